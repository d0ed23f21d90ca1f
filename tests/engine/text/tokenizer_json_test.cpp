// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tokenizer_json.h"

#include <QTest>

#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace tokenizer_json_test {

using namespace lathe::engine;
using lathe::tests::byte_fallback_file;
using lathe::tests::byte_level_file;
using lathe::tests::encoded;
using lathe::tests::TextFolder;

namespace {

Result<std::unique_ptr<Tokenizer>> open(const std::string& file, const std::string& config = "{}") {
  const TextFolder folder;
  folder.write("tokenizer.json", file);
  folder.write("tokenizer_config.json", config);
  return open_tokenizer(folder.path());
}
std::unique_ptr<Tokenizer> opened(const Json& file, const std::string& config = "{}") {
  auto tokenizer = open(file.dump(), config);
  if (!tokenizer) qWarning("%s: %s", tokenizer.error().where.c_str(), tokenizer.error().message.c_str());
  return tokenizer ? std::move(*tokenizer) : nullptr;
}
std::string refusal(const Json& file) {
  const auto tokenizer = open(file.dump());
  if (tokenizer) return {};
  return tokenizer.error().code == ErrorCode::model_refused ? tokenizer.error().where + ": " + tokenizer.error().message
                                                            : "wrong code";
}
std::string pieces(const Tokenizer& tokenizer, const std::vector<std::int32_t>& ids) {
  std::string out;
  for (const std::int32_t id : ids) out += "[" + tokenizer.piece(id) + "]";
  return out;
}

}  // namespace

class TokenizerJsonTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void byte_level_merges_inside_words() {
    const auto t = opened(byte_level_file());
    QCOMPARE(pieces(*t, encoded(*t, "hello world hell", false, false)), std::string("[hello][ wor][l][d][ ][hell]"));
    QCOMPARE(t->kind(), std::string_view("bpe"));
  }
  void byte_level_gives_every_byte_back() {
    const auto t = opened(byte_level_file());
    for (const std::string text : {"hello", " h\xC3\xA9 \xF0\x9F\xA6\x99\n\n\t x  ", "", "\x01\x7F", "<|end|><tool>"}) {
      QCOMPARE(t->decode(encoded(*t, text, true, false), false), text);
    }
  }
  void ids_stand_for_a_bounded_number_of_bytes() {
    QCOMPARE(opened(byte_level_file())->max_bytes_per_token(), std::string("<|end|>").size());
    const auto t = opened(byte_fallback_file());
    QCOMPARE(t->max_bytes_per_token(), std::string("<0x00>").size());
    for (const std::string& text : {std::string(100, ' '), std::string("hello"), std::string(9, '\xFF')})
      QVERIFY(encoded(*t, text, false, true).size() * t->max_bytes_per_token() >= text.size());
  }
  void there_is_no_bound_where_text_may_vanish_data() {
    QTest::addColumn<QString>("path");
    QTest::addColumn<QString>("value");
    QTest::newRow("a rule that takes away") << "/normalizer"
                                            << R"({"type":"Replace","pattern":{"String":"ab"},"content":""})";
    QTest::newRow("accents that go") << "/normalizer"
                                     << R"({"type": "StripAccents"})";
    QTest::newRow("one of several")
        << "/normalizer"
        << R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"_"},{"type":"StripAccents"}]})";
    QTest::newRow("what words lie between")
        << "/pre_tokenizer"
        << R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"String":" "},"behavior":"Removed","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})";
    QTest::newRow("white space beside a token") << "/added_tokens/1/rstrip"
                                                << "true";
  }
  void there_is_no_bound_where_text_may_vanish() {
    QFETCH(QString, path);
    QFETCH(QString, value);
    Json file = byte_level_file();
    file[Json::json_pointer(path.toStdString())] = Json::parse(value.toStdString());
    const auto t = opened(file);
    QVERIFY(t != nullptr);
    QCOMPARE(t->max_bytes_per_token(), std::size_t{0});
  }
  void what_shortens_a_text_widens_the_bound_data() {
    QTest::addColumn<QString>("normalizer");
    QTest::addColumn<int>("times");
    QTest::newRow("none") << "null" << 1;
    QTest::newRow("a normal form") << R"({"type":"NFC"})" << 6;
    QTest::newRow("a rule") << R"({"type":"Replace","pattern":{"String":"abcde"},"content":"ab"})" << 3;
    QTest::newRow("both") << R"({"type":"Sequence","normalizers":[{"type":"NFKC"},{"type":"Lowercase"}]})" << 18;
  }
  void what_shortens_a_text_widens_the_bound() {
    QFETCH(QString, normalizer);
    QFETCH(int, times);
    Json file = byte_level_file();
    file["normalizer"] = Json::parse(normalizer.toStdString());
    QCOMPARE(opened(file)->max_bytes_per_token(), std::string("<|end|>").size() * static_cast<std::size_t>(times));
  }
  void there_is_no_bound_where_bytes_have_no_piece() {
    Json file = byte_level_file();
    file["model"]["vocab"].erase("~");
    // The id goes to another piece, so that there is no hole.
    file["model"]["vocab"]["zz"] = byte_level_file()["model"]["vocab"]["~"];
    const auto t = opened(file);
    QVERIFY(t != nullptr);
    QCOMPARE(t->max_bytes_per_token(), std::size_t{0});
  }
  void invalid_utf8_is_repaired_before_it_is_encoded() {
    const auto t = opened(byte_level_file());
    QCOMPARE(t->decode(encoded(*t,
                               "a\xFF"
                               "b",
                               false, false),
                       false),
             std::string("a\xEF\xBF\xBD"
                         "b"));
  }
  void byte_fallback_gives_every_byte_back() {
    const auto t = opened(byte_fallback_file());
    for (const std::string text : {"hello", " hello", "h\xC3\xA9 \xF0\x9F\xA6\x99\n", "  a  "})
      QCOMPARE(t->decode(encoded(*t, text, true, false), true), text);
    QCOMPARE(pieces(*t, encoded(*t, "hello", false, false)), std::string("[ he][l][lo]"));
  }
  void the_post_processor_puts_bos() {
    const auto t = opened(byte_fallback_file(), R"({"bos_token": "<s>", "eos_token": "</s>"})");
    QVERIFY(t->adds_bos());
    QCOMPARE(encoded(*t, "a", true, false).front(), 1);
    QVERIFY(encoded(*t, "a", false, false).front() != 1);
    QCOMPARE(t->eos_ids(), std::vector<std::int32_t>{2});
  }
  void the_post_processor_counts_and_no_flag_of_the_configuration_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"LlamaTokenizer", "LlamaTokenizerFast", "GemmaTokenizer", "TokenizersBackend", "GPT2Tokenizer"})
      QTest::newRow(name) << name;
  }
  void the_post_processor_counts_and_no_flag_of_the_configuration() {
    QFETCH(QString, name);
    Json config = {{"tokenizer_class", name.toStdString()},
                   {"bos_token", "<s>"},
                   {"eos_token", "</s>"},
                   {"add_bos_token", false},
                   {"add_eos_token", true}};
    const auto with = opened(byte_fallback_file(), config.dump());
    QVERIFY(with->adds_bos());
    QVERIFY(encoded(*with, "a", true, false).back() != 2);
    Json file = byte_fallback_file();
    file["post_processor"] = nullptr;
    config["add_bos_token"] = true;
    QVERIFY(!opened(file, config.dump())->adds_bos());
  }
  void T6_text_of_a_user_is_never_a_control_token() {
    for (const Json& file : {byte_level_file(), byte_fallback_file()}) {
      const auto t = opened(file);
      for (const std::int32_t id : encoded(*t, "<|end|> <s></s>", false, false)) QVERIFY(!t->is_special(id));
    }
  }
  void control_tokens_are_read_where_that_is_allowed() {
    const auto t = opened(byte_level_file());
    QCOMPARE(pieces(*t, encoded(*t, "hello<|end|>", false, true)), std::string("[hello][<|end|>]"));
    QCOMPARE(pieces(*t, encoded(*t, "hello<tool>", false, false)), std::string("[hello][<tool>]"));
  }
  void T6_control_tokens_do_not_grow_across_message_joins() {
    const auto t = opened(byte_level_file());
    const std::vector<TextSpan> spans = {{"<|e", true}, {"nd|>", false}, {"<|end|>", true}};
    const auto ids = encoded(*t, spans);
    QCOMPARE(std::count(ids.begin(), ids.end(), 400), 1);
    QCOMPARE(ids.back(), 400);
  }
  void spans_encode_as_if_they_were_one_text() {
    const auto t = opened(byte_level_file());
    const std::vector<TextSpan> spans = {{"he", true}, {"llo", false}, {" wor", true}};
    QCOMPARE(encoded(*t, spans), encoded(*t, "hello wor", false, false));
  }
  void T6_ignored_merges_do_not_reach_control_tokens() {
    Json file = byte_level_file();
    file["model"]["ignore_merges"] = true;
    file["pre_tokenizer"] = Json::parse(R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false})");
    file["model"]["vocab"]["<|end|>"] = 400;
    const auto t = opened(file);
    for (const std::int32_t id : encoded(*t, "<|end|>", false, false)) QVERIFY(id != 400);
  }
  void incremental_bytes_add_up_to_the_text() {
    const auto t = opened(byte_fallback_file());
    const std::string text = "hello h\xC3\xA9";
    std::string bytes;
    const auto ids = encoded(*t, text, false, false);
    for (std::size_t i = 0; i < ids.size(); ++i) bytes += t->decode_bytes(ids[i], i == 0);
    QCOMPARE(bytes, text);
  }
  void names_are_found() {
    const auto t = opened(byte_level_file());
    QCOMPARE(t->id_of("<|end|>").value(), 400);
    QCOMPARE(t->id_of("\xC4\xA0w").has_value(), true);
    QVERIFY(!t->id_of("nope").has_value());
    QCOMPARE(t->vocab_size(), 402);
  }
  void unknown_components_are_refused_by_name() {
    for (const char* key : {"normalizer", "pre_tokenizer", "post_processor", "decoder"}) {
      Json file = byte_level_file();
      file[key] = {{"type", "Marvellous"}};
      const std::string message = refusal(file);
      QVERIFY2(message.find("Marvellous") != std::string::npos && message.find(key) != std::string::npos, message.c_str());
    }
  }
  void other_models_are_refused_by_name() {
    Json file = byte_level_file();
    file["model"]["type"] = "WordLevel";
    QVERIFY(refusal(file).find("\"WordLevel\" is not supported (supported: BPE, Unigram, WordPiece)") != std::string::npos);
  }
  void options_that_are_not_built_are_refused() {
    Json file = byte_level_file();
    file["model"]["end_of_word_suffix"] = "</w>";
    QVERIFY(refusal(file).find("end_of_word_suffix") != std::string::npos);
    file = byte_level_file();
    file["model"]["dropout"] = 0.1;
    QVERIFY(refusal(file).find("dropout") != std::string::npos);
  }
  void L17_a_merge_of_absent_pieces_is_refused() {
    Json file = byte_level_file();
    file["model"]["merges"].push_back("zz top");
    QVERIFY(refusal(file).find("model.merges[7]") != std::string::npos);
    file = byte_level_file();
    file["model"]["merges"].push_back("h x");  // joined piece is absent
    QVERIFY(refusal(file).find("hx") != std::string::npos);
  }
  void L17_a_merge_twice_is_refused() {
    Json file = byte_level_file();
    file["model"]["merges"].push_back("h e");
    QVERIFY(refusal(file).find("twice") != std::string::npos);
  }
  void L17_bad_merges_are_refused() {
    for (const Json& merge :
         {Json("a"), Json("a b c"), Json(""), Json(5), Json::array({"a"}), Json::array({"a", "b", "c"})}) {
      Json file = byte_level_file();
      file["model"]["merges"].push_back(merge);
      QVERIFY2(refusal(file).find("must be two pieces") != std::string::npos, refusal(file).c_str());
    }
  }
  void L17_bad_ids_are_refused() {
    for (const Json& id : {Json(-1), Json(2147483648u), Json(1e9), Json("5"), Json(nullptr), Json(0)}) {  // 0 is taken
      Json file = byte_level_file();
      file["model"]["vocab"]["newpiece"] = id;
      const char* reason = id == 0 ? "the id 0 is given to" : "the id of \"newpiece\" must be a whole number below";
      QVERIFY2(refusal(file).find(reason) != std::string::npos, refusal(file).c_str());
    }
  }
  void L17_an_added_token_that_clashes_is_refused() {
    Json file = byte_level_file();
    file["added_tokens"].push_back({{"id", 500}, {"content", "hello"}});
    QVERIFY(refusal(file).find("added_tokens") != std::string::npos);
  }
  void L17_the_same_piece_twice_is_refused() {
    std::string text = byte_level_file().dump();
    const std::string key = "\"hello\":";
    text.insert(text.find(key), "\"hello\":399,");
    QCOMPARE(open(text).error().message, std::string("the piece \"hello\" appears twice"));
  }
  void L1_broken_files_are_refused() {
    const std::string text = byte_fallback_file().dump();
    for (std::size_t n = 0; n < text.size(); n += 97) QVERIFY(!open(text.substr(0, n)).has_value());
    for (const char* bad : {"", "[]", "null", "{}", R"({"model": 5})", R"({"model": {"type": "BPE"}})",
                            R"({"model": {"type": "BPE", "vocab": {}}})"}) {
      QVERIFY2(!open(bad).has_value(), bad);
    }
  }
  void L17_long_text_is_encoded() {
    const auto t = opened(byte_fallback_file());
    std::string text;
    for (int i = 0; i < 30'000; ++i) text += "hello ";
    QCOMPARE(t->decode(encoded(*t, text, false, false), true), text);
    const auto bytes = opened(byte_level_file());
    QCOMPARE(bytes->decode(encoded(*bytes, std::string(200'000, 'l'), false, false), true), std::string(200'000, 'l'));
  }
};

LATHE_TEST(TokenizerJsonTest)

}  // namespace tokenizer_json_test
#include "tokenizer_json_test.moc"
