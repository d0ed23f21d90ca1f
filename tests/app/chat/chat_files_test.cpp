// SPDX-License-Identifier: Apache-2.0
#include "app/api/chat_files.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace chat_files_test {

namespace {

using lathe::app::chat_file_format;
using lathe::app::MessageTree;
using lathe::app::read_chats;
using lathe::app::ReadChat;
using lathe::app::StoredMessage;

/// A question with two answers, the first of which is shown, and a system prompt.
MessageTree sample() {
  MessageTree tree;
  const auto add = [&tree](std::int64_t id, std::int64_t parent, const char* role, const char* text) {
    StoredMessage message = lathe::app::new_message(role, text, parent);
    message.id = id;
    tree.add(message);
  };
  add(1, 0, "system", "Be brief.");
  add(2, 1, "user", "What is a \"block\"?\nSay it in 漢字.");
  add(3, 2, "assistant", "16 tokens");
  add(4, 2, "assistant", "Another version");
  tree.set_rank(3, 99);
  return tree;
}

std::string error_of(const std::string& bytes) {
  const auto chats = read_chats(bytes);
  return chats ? std::string() : chats.error().message;
}

}  // namespace

class ChatFilesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void markdown_has_a_heading_for_each_message() {
    const std::string text = chat_file_format("markdown")->write("Blocks", sample().path());
    QCOMPARE(text, std::string("# Blocks\n\n## System\n\nBe brief.\n\n## User\n\nWhat is a \"block\"?\nSay it in 漢字.\n\n"
                               "## Assistant\n\n16 tokens\n"));
  }
  void what_is_written_is_read_again_data() {
    QTest::addColumn<QString>("format");
    QTest::newRow("json") << "json";
    QTest::newRow("sharegpt") << "sharegpt";
  }
  void what_is_written_is_read_again() {
    QFETCH(QString, format);
    const MessageTree tree = sample();
    const std::string text = chat_file_format(format.toStdString())->write("Blocks", tree.path());
    const auto chats = read_chats(text);
    QVERIFY2(chats.has_value(), chats ? "" : chats.error().message.c_str());
    QCOMPARE(chats->size(), std::size_t{1});
    QCOMPARE(chats->front().title, std::string("Blocks"));
    QCOMPARE(chats->front().messages.size(), tree.path().size());
    for (std::size_t i = 0; i < tree.path().size(); ++i) {
      QCOMPARE(chats->front().messages[i].role, tree.path()[i].role);
      QCOMPARE(chats->front().messages[i].text, tree.path()[i].text);
    }
  }
  void several_chats_can_be_in_a_file_data() {
    QTest::addColumn<QByteArray>("bytes");
    QTest::newRow("list") << QByteArray(R"([{"messages":[{"role":"user","content":"a"}]},
        {"conversations":[{"from":"human","value":"b"},{"from":"gpt","value":"c"}]}])");
    QTest::newRow("lines") << QByteArray(
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n\n"
        "{\"conversations\":[{\"from\":\"human\",\"value\":\"b\"}]}\r\n");
  }
  void several_chats_can_be_in_a_file() {
    QFETCH(QByteArray, bytes);
    const auto chats = read_chats(bytes.toStdString());
    QVERIFY2(chats.has_value(), chats ? "" : chats.error().message.c_str());
    QCOMPARE(chats->size(), std::size_t{2});
    QCOMPARE((*chats)[1].messages[0].role, std::string("user"));
    QCOMPARE((*chats)[1].messages[0].text, std::string("b"));
  }
  void a_list_of_messages_is_a_chat() {
    const auto chats = read_chats(R"([{"role":"developer","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
                                      {"role":"user","content":""}])");
    QVERIFY2(chats.has_value(), chats ? "" : chats.error().message.c_str());
    QCOMPARE(chats->front().messages[0].role, std::string("system"));
    QCOMPARE(chats->front().messages[0].text, std::string("ab"));
    QCOMPARE(chats->front().messages.size(), std::size_t{2});
  }
  void what_cannot_be_read_is_named() {
    QVERIFY(error_of("not json").find("the file") != std::string::npos || !error_of("not json").empty());
    const auto has = [](const std::string& bytes, const char* word) {
      const std::string error = error_of(bytes);
      if (error.find(word) == std::string::npos) qWarning("%s", error.c_str());
      return error.find(word) != std::string::npos;
    };
    QVERIFY(has("", "") && !read_chats("").has_value());
    QVERIFY(has("[]", "not a chat"));
    QVERIFY(has("{}", "neither"));
    QVERIFY(has(R"({"messages":[]})", "not a list of messages"));
    QVERIFY(has(R"({"messages":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}]})", "messages[1].role"));
    QVERIFY(has(R"({"messages":[{"role":"user"}]})", "\"content\" is missing"));
    QVERIFY(has(R"({"messages":[{"role":"user","content":[{"type":"image_url"}]}]})", "not text"));
    QVERIFY(has(R"([{"messages":[{"role":"user","content":"a"}]}, 7])", "[1]"));
    QVERIFY(has("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":3}", "line 2"));
    QVERIFY(read_chats(std::string(lathe::app::kMaxChatFileBytes + 1, ' ')).error().code ==
            lathe::engine::ErrorCode::too_large);
  }
};

LATHE_TEST(ChatFilesTest)

}  // namespace chat_files_test
#include "chat_files_test.moc"
