// SPDX-License-Identifier: Apache-2.0
// Tests of reading the turns of users from every form of file.
#include "app/bench/conversation_dataset.h"

#include <QTemporaryDir>
#include <QTest>

#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace conversation_dataset_test {

using namespace lathe;
using namespace lathe::app;

class ConversationDatasetTest : public QObject {
  Q_OBJECT

  QTemporaryDir folder_;
  std::string file(const char* name, const std::string& text) const {
    const std::string path = folder_.filePath(QLatin1String(name)).toStdString();
    tests::write_file(path, text);
    return path;
  }

 private Q_SLOTS:
  void every_form_of_a_prompt_is_read() {
    const std::vector<UserTurns> wanted = {{"one"}, {"two two"}, {"three"}};
    QVERIFY(*read_conversations(file("a.txt", "one\r\n\ntwo two\n   \nthree")) == wanted);
    QVERIFY(*read_conversations(file("a.json", R"(["one", "two two", "", "three"])")) == wanted);
    const std::string lines =
        "{\"text\": \"one\"}\n{\"id\": 1, \"prompt\": \"two two\"}\n\n"
        "{\"conversations\": [{\"from\": \"human\", \"value\": \"three\"}, {\"from\": \"gpt\", \"value\": \"no\"}]}\n";
    QVERIFY(*read_conversations(file("a.jsonl", lines)) == wanted);
    QVERIFY(*read_conversations(
                file("b.json", R"([{"conversations": [{"value": "one"}]}, {"text": "two two"}, "three"])")) == wanted);
  }

  /// Answers of a file are not sent: those of the model that is measured stand in their place.
  void of_a_conversation_the_words_of_the_user_are_taken() {
    const UserTurns wanted = {"one", "two"};
    for (const char* item :
         {R"({"turns": ["one", "two"]})", R"({"turns": ["one", "", "two"]})",
          R"({"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": "one"},
              {"role": "assistant", "content": "no"}, {"role": "user", "content": "two"}]})",
          R"({"conversations": [{"from": "gpt", "value": "no"}, {"from": "human", "value": "one"},
              {"from": "gpt", "value": "no"}, {"from": "human", "value": "two"}]})",
          R"({"conversations": [{"value": "one"}, {"value": "no"}, {"value": "two"}]})"}) {
      const auto got = read_conversations(file("c.json", "[" + std::string(item) + "]"));
      QVERIFY2(got.has_value() && got->size() == 1 && got->front() == wanted, item);
    }
  }

  void what_is_no_prompt_is_named_with_file_and_line() {
    const auto bad = read_conversations(file("bad.jsonl", "{\"text\": \"one\"}\n{\"text\": 2}\n"));
    QVERIFY2(bad.error().where.ends_with("bad.jsonl, line 2"), bad.error().where.c_str());
    const auto broken = read_conversations(file("cut.jsonl", "{\"text\": \"one\"}\n\n{\"text\"\n"));
    QVERIFY2(broken.error().where.find("cut.jsonl, line 3") != std::string::npos, broken.error().where.c_str());
    QVERIFY(read_conversations(file("bad.json", "[\"a\", 7]")).error().where.ends_with("item 1"));
    QVERIFY(read_conversations(file("turn.json", R"([{"turns": ["a", 7]}])")).error().where.ends_with("item 0"));
    QVERIFY(!read_conversations(file("said.json", R"([{"messages": [{"role": "user"}]}])")).has_value());
    QCOMPARE(read_conversations("/nowhere/at.txt").error().code, engine::ErrorCode::not_found);
    QVERIFY(!read_conversations(file("empty.txt", "\n\n")).has_value());
    QVERIFY(!read_conversations(file("silent.json", R"([{"turns": []}, {"turns": [""]}])")).has_value());
  }

  void files_that_others_use_are_read() {
    SKIP_WITHOUT_SHARED("data/workloads/mt_bench_question.jsonl");
    SKIP_WITHOUT_SHARED("data/workloads/dummy_conversation.json");
    const auto questions = read_conversations(tests::shared_path("data/workloads/mt_bench_question.jsonl"));
    QVERIFY2(questions.has_value(), questions ? "" : questions.error().message.c_str());
    QCOMPARE(questions->size(), std::size_t{80});
    for (const UserTurns& turns : *questions) QCOMPARE(turns.size(), std::size_t{2});
    const auto share_gpt = read_conversations(tests::shared_path("data/workloads/dummy_conversation.json"));
    QVERIFY2(share_gpt.has_value(), share_gpt ? "" : share_gpt.error().message.c_str());
    QVERIFY((share_gpt->front() == UserTurns{"Who are you?", "Have a nice day!"}));
  }
};

LATHE_TEST(ConversationDatasetTest)

}  // namespace conversation_dataset_test
#include "conversation_dataset_test.moc"
