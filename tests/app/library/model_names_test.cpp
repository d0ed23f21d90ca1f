// SPDX-License-Identifier: Apache-2.0
#include "app/library/model_names.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace model_names_test {

namespace {

using lathe::app::LibraryEntry;
using lathe::app::WatchedFolder;
using lathe::engine::ErrorCode;

LibraryEntry entry(const std::string& path, const std::string& name) { return {.path = path, .name = name}; }

const std::vector<LibraryEntry> kEntries = {
    entry("/1", "meta-llama/Llama-3.2-1B"),
    entry("/2", "meta-llama/Llama-3.2-3B"),
    entry("/3", "qwen3:latest"),
    entry("/4", "qwen3:8b"),
    entry("/5", "Phi-4-mini-Q8_0"),
    entry("/6", "phi-4-MINI-q8_0"),
    entry("/7", "other/Llama-3.2-1B"),
};
const std::vector<WatchedFolder> kFolders = {{.path = "/hub", .kind = "Hugging Face cache", .is_there = true},
                                             {.path = "/gone", .kind = "LM Studio", .is_there = false}};

lathe::engine::Result<std::string> find(const std::string& name) {
  return lathe::app::find_by_name(kEntries, kFolders, name);
}

}  // namespace

class ModelNamesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_best_fit_decides_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<QString>("path");
    QTest::newRow("itself") << "meta-llama/Llama-3.2-1B"
                            << "/1";
    QTest::newRow("in another case") << "META-LLAMA/llama-3.2-1b"
                                     << "/1";
    QTest::newRow("its end") << "Llama-3.2-3B"
                             << "/2";
    QTest::newRow("its end in another case") << "llama-3.2-3b"
                                             << "/2";
    QTest::newRow("behind a hyphen") << "3b"
                                     << "/2";
    QTest::newRow("behind a colon") << "8b"
                                    << "/4";
    QTest::newRow("latest is left out") << "qwen3"
                                        << "/3";
    QTest::newRow("itself before another case") << "phi-4-MINI-q8_0"
                                                << "/6";
  }
  void the_best_fit_decides() {
    QFETCH(QString, name);
    QFETCH(QString, path);
    const auto found = find(name.toStdString());
    QVERIFY2(found.has_value(), found ? "" : found.error().message.c_str());
    QCOMPARE(*found, path.toStdString());
  }

  void several_that_fit_are_listed() {
    for (const char* name : {"Llama-3.2-1B", "PHI-4-mini-q8_0"}) {
      const auto found = find(name);
      QVERIFY(!found.has_value());
      QCOMPARE(found.error().code, ErrorCode::invalid_argument);
      QVERIFY2(found.error().message.starts_with("2 models match"), found.error().message.c_str());
    }
    const std::string message = find("Llama-3.2-1B").error().message;
    QVERIFY(message.find("/1") != std::string::npos && message.find("/7") != std::string::npos);
  }

  void the_middle_of_a_word_is_no_name() {
    for (const char* name : {"lama-3.2-3B", "B", "", "en3:8b"}) QVERIFY2(!find(name).has_value(), name);
  }

  void an_unknown_name_says_what_is_near_and_where_was_looked() {
    const auto found = find("Llama-3.2-2B");
    QVERIFY(!found.has_value());
    QCOMPARE(found.error().code, ErrorCode::not_found);
    QCOMPARE(found.error().where, std::string("Llama-3.2-2B"));
    QVERIFY(found.error().message.find("did you mean meta-llama/Llama-3.2-1B?") != std::string::npos);
    QVERIFY(found.error().message.find("/hub") != std::string::npos);
    QVERIFY(found.error().message.find("/gone") == std::string::npos);
  }

  void a_mistyped_path_is_compared_by_its_last_part() {
    const auto found = find("some/where/else/Llama-3.2-2B");
    QVERIFY(!found.has_value());
    QVERIFY(found.error().message.find("did you mean meta-llama/Llama-3.2-1B?") != std::string::npos);
  }

  void what_is_near_to_nothing_gets_no_guess() {
    const auto found = find("zzzzzzzz");
    QVERIFY(!found.has_value());
    QVERIFY(found.error().message.find("did you mean") == std::string::npos);
  }
};

LATHE_TEST(ModelNamesTest)

}  // namespace model_names_test
#include "model_names_test.moc"
