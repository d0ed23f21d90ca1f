// SPDX-License-Identifier: Apache-2.0
// Under which names the files of a checkpoint call a token special, and which flags it has then. Source: transformers 5.24.
#include <QTest>

#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace special_token_names_test {

using namespace lathe::engine;
using lathe::tests::byte_level_file;
using lathe::tests::encoded;
using lathe::tests::TextFolder;

namespace {

constexpr std::int32_t kTool = 401;  // "<tool>" of byte_level_file(), which is no special token there

std::unique_ptr<Tokenizer> opened(const Json& file, const Json& config, const Json& map = Json(),
                                  const Json& added = Json()) {
  const TextFolder folder;
  folder.write("tokenizer.json", file.dump());
  folder.write("tokenizer_config.json", config.dump());
  if (!map.is_null()) folder.write("special_tokens_map.json", map.dump());
  if (!added.is_null()) folder.write("added_tokens.json", added.dump());
  auto tokenizer = open_tokenizer(folder.path());
  if (!tokenizer) qWarning("%s: %s", tokenizer.error().where.c_str(), tokenizer.error().message.c_str());
  return tokenizer ? std::move(*tokenizer) : nullptr;
}

}  // namespace

class SpecialTokenNamesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void a_token_is_special_by_its_name_data() {
    QTest::addColumn<QString>("config");
    QTest::addColumn<bool>("special");
    QTest::newRow("no name") << "{}" << false;
    QTest::newRow("the older list") << R"({"additional_special_tokens":["<tool>"]})" << true;
    QTest::newRow("the newer list") << R"({"extra_special_tokens":["<tool>"]})" << true;
    QTest::newRow("a list of objects") << R"({"extra_special_tokens":[{"content":"<tool>","lstrip":false}]})" << true;
    QTest::newRow("names of tokens") << R"({"extra_special_tokens":{"tool_token":"<tool>"}})" << true;
    QTest::newRow("both lists") << R"({"additional_special_tokens":["<|end|>"],"extra_special_tokens":["<tool>"]})" << true;
    QTest::newRow("a name of the model's own") << R"({"tool_token":"<tool>"})" << true;
    QTest::newRow("an object") << R"({"image_token":{"content":"<tool>","__type":"AddedToken"}})" << true;
    QTest::newRow("a separator") << R"({"sep_token":"<tool>"})" << true;
    QTest::newRow("no such values") << R"({"extra_special_tokens":null,"tool_token":null,"add_bos_token":true})" << false;
    QTest::newRow("another type") << R"({"extra_special_tokens":"<tool>","x_token":5})" << false;
  }
  void a_token_is_special_by_its_name() {
    QFETCH(QString, config);
    QFETCH(bool, special);
    const Json names = Json::parse(config.toStdString());
    for (const auto& t : {opened(byte_level_file(), names), opened(byte_level_file(), Json::object(), names)}) {
      QVERIFY(t);
      QCOMPARE(t->is_special(kTool), special);
      const auto spelled = encoded(*t, "a<tool>b", false, false), read = encoded(*t, "a<tool>b", false, true);
      QCOMPARE(std::count(spelled.begin(), spelled.end(), kTool), special ? 0 : 1);
      QCOMPARE(std::count(read.begin(), read.end(), kTool), 1);
      QCOMPARE(t->decode(read, true), std::string(special ? "ab" : "a<tool>b"));
    }
  }

  void flags_of_the_configuration_replace_those_of_the_file() {
    const Json config = {{"added_tokens_decoder",
                          {{"401", {{"content", "<tool>"}, {"lstrip", true}, {"rstrip", true}, {"normalized", false}}}}}};
    const auto t = opened(byte_level_file(), config);
    QCOMPARE(encoded(*t, "a  <tool> \nb", false, false).size(), std::size_t{3});
    QCOMPARE(encoded(*opened(byte_level_file(), Json::object()), "a  <tool> \nb", false, false).size(), std::size_t{7});
  }

  void a_piece_that_is_named_becomes_a_control_token_with_the_flags_of_its_name() {
    const Json map = {{"mask_token", {{"content", "hello"}, {"lstrip", true}, {"normalized", false}}}};
    const auto t = opened(byte_level_file(), Json::object(), map);
    const std::int32_t hello = *t->id_of("hello");
    QVERIFY(t->is_special(hello));
    QCOMPARE(encoded(*t, "a  hello", false, true), (std::vector<std::int32_t>{*t->id_of("a"), hello}));
    const auto spelled = encoded(*t, "hello", false, false);
    QCOMPARE(std::count(spelled.begin(), spelled.end(), hello), 0);
  }

  void a_text_keeps_its_characters_and_what_pads() {
    const auto t = opened(byte_level_file(), {{"pad_token", "hello"}, {"eos_token", "!"}});
    QVERIFY(!t->is_special(*t->id_of("hello")) && !t->is_special(*t->id_of("!")));
    QCOMPARE(t->decode(encoded(*t, "hello!", false, false), true), std::string("hello!"));
    QCOMPARE(t->eos_ids(), std::vector<std::int32_t>{*t->id_of("!")});
  }

  void tokens_of_added_tokens_json_are_found_in_the_normalized_text() {
    Json file = byte_level_file();
    file["normalizer"] = {{"type", "Lowercase"}};
    const auto t = opened(file, Json::object(), Json(), {{"<New>", 402}});
    for (const char* text : {"<new>", "<New>", "<NEW>"}) QCOMPARE(encoded(*t, text, false, false), std::vector{402});
    const auto special = opened(file, {{"extra_special_tokens", {"<New>"}}}, Json(), {{"<New>", 402}});
    QCOMPARE(encoded(*special, "<New>", false, true), std::vector{402});
    QVERIFY(encoded(*special, "<new>", false, true).size() > 1);
  }
};

LATHE_TEST(SpecialTokenNamesTest)

}  // namespace special_token_names_test
#include "special_token_names_test.moc"
