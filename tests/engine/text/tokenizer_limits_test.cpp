// SPDX-License-Identifier: Apache-2.0
// Row L17: files tokenizer.json that are made to cost too much or to mean two things; rows L1, L5 and L6 of the same file.
#include <QTest>

#include "engine/text/tokenizer_json.h"
#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/verify_has.h"

namespace tokenizer_limits_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

Result<std::unique_ptr<Tokenizer>> open(const std::string& file, const std::string& config = "{}") {
  const TextFolder folder;
  folder.write("tokenizer.json", file);
  folder.write("tokenizer_config.json", config);
  return open_tokenizer(folder.path());
}
std::string refusal(const std::string& file, const std::string& config = "{}") {
  const auto tokenizer = open(file, config);
  if (tokenizer) return "was accepted";
  if (tokenizer.error().message.size() + tokenizer.error().where.size() > 1024) return "longer than 1 KiB";
  return tokenizer.error().code == ErrorCode::model_refused ? tokenizer.error().where + ": " + tokenizer.error().message
                                                            : "wrong code";
}
std::string refusal(const Json& file, const std::string& config = "{}") { return refusal(file.dump(), config); }
Json added(int id, const std::string& content) { return {{"id", id}, {"content", content}}; }
/// `n` parts of a sequence that each do nothing.
Json parts(std::size_t n, const Json& part) { return Json(std::vector<Json>(n, part)); }
/// The file with "key" written again in front of where it stands.
std::string with_key_twice(const Json& file, const std::string& key, const std::string& value) {
  std::string text = file.dump();
  const std::string quoted = "\"" + key + "\":";
  text.insert(text.find(quoted), quoted + value + ",");
  return text;
}

}  // namespace

class TokenizerLimitsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void L17_a_gap_between_ids_is_refused() {
    Json file = byte_level_file();
    const int n = static_cast<int>(file["model"]["vocab"].size());
    file["model"]["vocab"]["qq"] = n;
    QVERIFY(open(file.dump()).has_value());
    file["model"]["vocab"]["qq"] = n + 1;
    VERIFY_HAS(refusal(file), "model.vocab: no piece has the id " + std::to_string(n));
    file["added_tokens"].push_back(added(n, "<fill>"));  // an added token may fill it
    QVERIFY(open(file.dump()).has_value());
  }
  void L17_an_id_far_behind_the_pieces_is_refused() {
    VERIFY_HAS(refusal(std::string(R"({"model":{"type":"BPE","vocab":{"x":3999999},"merges":[]}})")),
               "the ID 3999999 is far beyond the 1 pieces");
    Json file = byte_level_file();
    file["added_tokens"].push_back(added(1'000'000, "<far>"));
    VERIFY_HAS(refusal(file), "added_tokens: the ID 1000000 is far beyond");
    VERIFY_HAS(refusal(byte_level_file(), R"({"added_tokens_decoder":{"1000000":{"content":"<far>"}}})"),
               "added_tokens_decoder: the ID 1000000 is far beyond");
  }
  void L17_an_added_token_with_the_id_of_a_piece_is_refused() {
    Json file = byte_level_file();
    const int taken = file["model"]["vocab"]["hello"].get<int>();
    file["added_tokens"].push_back(added(taken, "<evil>"));
    VERIFY_HAS(refusal(file), "is given to \"hello\" and to \"<evil>\"");
    file = byte_level_file();
    file["added_tokens"].push_back(added(taken, "hello"));  // the same piece
    QVERIFY(open(file.dump()).has_value());
  }
  void L17_two_added_tokens_with_one_id_are_refused() {
    Json file = byte_level_file();
    file["added_tokens"].push_back(added(400, "<other>"));
    VERIFY_HAS(refusal(file), "the id 400 is given to \"<|end|>\" and to \"<other>\"");
    file = byte_level_file();
    file["added_tokens"].push_back(added(400, "<|end|>"));
    VERIFY_HAS(refusal(file), "the id 400 is given to");
  }
  void L17_the_configuration_may_rename_a_piece() {
    const auto t = open(byte_level_file().dump(), R"({"added_tokens_decoder":{"0":{"content":"<new>"}}})");
    QVERIFY(t.has_value());
    QCOMPARE(encoded(**t, "<new>", false, false), std::vector<std::int32_t>{0});
  }
  void L17_merges_that_add_nothing_are_refused() {
    for (const Json& merge : {Json(" a"), Json("a "), Json::array({"", "a"}), Json::array({"a", ""})}) {
      Json file = byte_level_file();
      file["model"]["vocab"][""] = file["model"]["vocab"].size();
      file["model"]["merges"].push_back(merge);  // "" + "a" -> "a", for ever
      VERIFY_HAS(refusal(file), "model.merges[7]: must be two pieces");
    }
  }
  void L17_long_rules_are_refused() {
    Json file = byte_level_file();
    file["normalizer"] = {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(4097, 'x')}};
    VERIFY_HAS(refusal(file), "normalizer.Replace: \"content\" has 4097 bytes, at most 4096");
    std::string text = file.dump();  // not by the JSON library: that takes seconds
    text.insert(text.find("xxxx"), std::string(50 << 20, 'x'));
    VERIFY_HAS(refusal(text), "tokenizer.json: normalizer: it has 5243");
    VERIFY_HAS(refusal(text), " bytes, at most 8388608");
    file["normalizer"] = {{"type", "Prepend"}, {"prepend", std::string(4097, 'x')}};
    VERIFY_HAS(refusal(file), "normalizer.Prepend: \"prepend\" has 4097 bytes");
    file["normalizer"] = nullptr;
    file["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", std::string(4097, 'x')}};
    VERIFY_HAS(refusal(file), "pre_tokenizer.Metaspace: \"replacement\" has 4097 bytes");
    file["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", std::string(65'537, 'x')}}}, {"behavior", "Isolated"}};
    VERIFY_HAS(refusal(file), "a regular expression of 65537 bytes, at most 65536");
  }
  void L17_long_sequences_are_refused() {
    const Json strip = {{"type", "Strip"}}, digits = {{"type", "Digits"}}, fuse = {{"type", "Fuse"}};
    Json file = byte_level_file();
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", parts(64, strip)}};
    QVERIFY(open(file.dump()).has_value());
    file["normalizer"]["normalizers"] = parts(100'000, strip);
    VERIFY_HAS(refusal(file), "normalizer.Sequence: 100000 parts, at most 64");
    file = byte_level_file();
    file["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", parts(65, digits)}};
    VERIFY_HAS(refusal(file), "pre_tokenizer.Sequence: 65 parts");
    file = byte_level_file();
    file["decoder"] = {{"type", "Sequence"}, {"decoders", parts(65, fuse)}};
    VERIFY_HAS(refusal(file), "decoder.Sequence: 65 parts");
    const Json step = {{"type", "Replace"}, {"pattern", {{"String", "x"}}}, {"content", "y"}};
    const Json inner = {{"type", "Sequence"}, {"decoders", parts(33, step)}};
    file["decoder"]["decoders"] = parts(2, inner);
    VERIFY_HAS(refusal(file), "decoder.Sequence: more than 64 steps");
    file = byte_level_file();
    file["post_processor"] = {{"type", "TemplateProcessing"}, {"single", parts(65, {{"Sequence", {{"id", "A"}}}})}};
    VERIFY_HAS(refusal(file), "post_processor.TemplateProcessing: 65 parts");
  }
  void ids_of_a_template_are_those_of_the_vocabulary() {
    Json file = byte_level_file();
    const auto with_ids = [&](Json ids) {
      file["post_processor"] = {{"type", "TemplateProcessing"},
                                {"single", {{{"SpecialToken", {{"id", "two"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                                {"special_tokens", {{"two", {{"id", "two"}, {"ids", std::move(ids)}}}}}};
      return file.dump();
    };
    const auto opened = open(with_ids({3, 1}));  // no token is called "two"
    QVERIFY2(opened.has_value(), opened ? "" : opened.error().message.c_str());
    const auto ids = (*opened)->encode("", true, false);
    QVERIFY((*ids == std::vector<std::int32_t>{3, 1}));
    VERIFY_HAS(refusal(with_ids({3, 100'000})), "post_processor: adds the id 100000, but the vocabulary has ");
    VERIFY_HAS(refusal(with_ids({-1})), "an id of \"two\" is no token id");
    VERIFY_HAS(refusal(with_ids({"3"})), "an id of \"two\" is no token id");
    VERIFY_HAS(refusal(with_ids(3)), "\"ids\" of \"two\" must be a list of at most 64 ids");
  }
  void L17_pieces_that_grow_without_bound_are_refused() {
    Json file = byte_level_file();
    const Json twice = {{"type", "Replace"}, {"pattern", {{"String", "h"}}}, {"content", "hh"}};
    file["decoder"] = {{"type", "Sequence"}, {"decoders", parts(20, twice)}};
    VERIFY_HAS(refusal(file), "becomes 131072 bytes, at most 65536");
    file = byte_level_file();
    file["model"]["vocab"][std::string(4097, 'x')] = file["model"]["vocab"].size();
    VERIFY_HAS(refusal(file), "has 4097 bytes, at most 4096");
  }
  void L17_a_text_that_grows_without_bound_is_an_error() {
    const Json twice = {{"type", "Replace"}, {"pattern", {{"String", "l"}}}, {"content", "ll"}};
    Json file = byte_level_file();
    file["normalizer"] = {{"type", "Sequence"}, {"normalizers", parts(40, twice)}};
    const auto t = open(file.dump());
    QVERIFY(t.has_value());
    const auto ids = (*t)->encode("hello", false, false);
    QVERIFY(!ids && ids.error().code == ErrorCode::too_large);
    VERIFY_HAS(ids.error().message, "a text of 5 bytes grows to");
    QVERIFY((*t)->encode("heo", false, false).has_value());
  }
  void L17_wrong_kinds_of_values_are_refused_not_thrown() {
    for (const Json& start : {Json("x"), Json(-1), Json(1.5), Json(1e300), Json(nullptr)}) {
      Json file = byte_fallback_file();
      file["decoder"] = {{"type", "Strip"}, {"content", " "}, {"start", start}, {"stop", 0}};
      VERIFY_HAS(refusal(file), "decoder.Strip");
    }
    Json file = byte_fallback_file();
    file["decoder"] = {{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", 5}};
    QVERIFY(open(file.dump()).has_value());
  }
  void L17_damaged_precompiled_tables_are_refused() {
    Json file = byte_level_file();
    file["normalizer"] = {{"type", "Precompiled"}, {"precompiled_charsmap", "AAAA"}};
    VERIFY_HAS(refusal(file), "normalizer.Precompiled: truncated");
    file["normalizer"]["precompiled_charsmap"] = "////////";
    VERIFY_HAS(refusal(file), "normalizer.Precompiled: a trie of 4294967295 bytes in 2");
    file["normalizer"]["precompiled_charsmap"] = "no base64!";
    VERIFY_HAS(refusal(file), "is not base64");
    file["normalizer"]["precompiled_charsmap"] = "";
    VERIFY_HAS(refusal(file), "it is empty");
  }
  void L17_damaged_unigram_models_are_refused() {
    const auto unigram = [](const char* vocabulary, const char* more = "") {
      return std::string(R"({"model":{"type":"Unigram","vocab":)") + vocabulary + more + "}}";
    };
    QVERIFY(open(unigram(R"([["a",-1],["b",-2.5]])")).has_value());
    VERIFY_HAS(refusal(unigram("{}")), "model.vocab: must be a list of pieces and scores");
    VERIFY_HAS(refusal(unigram(R"([["a",-1],["b"]])")), "model.vocab[1]: must be a piece and its score");
    VERIFY_HAS(refusal(unigram(R"([["a","x"]])")), "model.vocab[0]: must be a piece and its score");
    VERIFY_HAS(refusal(unigram(R"([["a",-1],["a",-2]])")), "the piece \"a\" appears twice");
    VERIFY_HAS(refusal(unigram(R"([["a",-1]])", R"(,"unk_id":1)")), "model.unk_id: 1 is beyond the 1 pieces");
    VERIFY_HAS(refusal(unigram(R"([["a",-1]])", R"(,"unk_id":-1)")), "model.unk_id: must be a whole number");
  }
  void L17_damaged_wordpiece_models_are_refused() {
    const auto wordpiece = [](const char* more) {
      return std::string(R"({"model":{"type":"WordPiece","vocab":{"[UNK]":0,"a":1})") + more + "}}";
    };
    QVERIFY(open(wordpiece(R"(,"unk_token":"[UNK]")")).has_value());
    VERIFY_HAS(refusal(wordpiece("")), "model.unk_token: is missing");
    VERIFY_HAS(refusal(wordpiece(R"(,"unk_token":"[X]")")), "model.unk_token: is not in the vocabulary");
    VERIFY_HAS(refusal(wordpiece(R"(,"unk_token":"[UNK]","max_input_chars_per_word":1e300)")), "max_input_chars_per_word");
    VERIFY_HAS(refusal(wordpiece(R"(,"unk_token":"[UNK]","continuing_subword_prefix":7)")), "must be a text");
  }
  void L17_long_words_without_end_take_linear_time() {
    const auto t = open(R"({"model":{"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["aa",-1.5],["aaaaaaaa",-2]]}})");
    QVERIFY(t.has_value());
    QCOMPARE(encoded(**t, std::string(1 << 20, 'a'), false, false).size(), std::size_t{1 << 17});
  }
  void L17_expensive_patterns_are_an_error_not_other_ids() {
    Json file = byte_level_file();
    file["pre_tokenizer"] = {
        {"type", "Split"}, {"pattern", {{"Regex", "(a+)+\\d"}}}, {"behavior", "Isolated"}, {"invert", false}};
    const auto t = open(file.dump());
    QVERIFY(t.has_value());
    const auto ids = (*t)->encode(std::string(3000, 'a'), false, false);
    QVERIFY(!ids && ids.error().code == ErrorCode::too_large);
    VERIFY_HAS(ids.error().message, "too expensive for this text of 3000 bytes");
    QVERIFY((*t)->encode("hello aa1", false, false).has_value());  // the tokenizer goes on
  }
  void L17_a_pattern_of_quadratic_cost_is_an_error() {
    Json file = byte_level_file();
    file["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", "[^x]*[0-9]"}}}, {"behavior", "Isolated"}};
    const auto t = open(file.dump());
    QVERIFY(t.has_value());
    const auto ids = (*t)->encode(std::string(1 << 17, 'a'), false, false);
    QVERIFY(!ids && ids.error().code == ErrorCode::too_large);
  }
  void L6_keys_that_appear_twice_are_refused() {
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "model", "{}")), "the file: the key \"model\" appears twice");
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "added_tokens", "[]")), "\"added_tokens\" appears twice");
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "merges", "[]")), "model: the key \"merges\" appears twice");
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "vocab", "{}")), "model: the key \"vocab\" appears twice");
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "content", "\"<x>\"")),
               "added_tokens[0]: the key \"content\" appears twice");
    VERIFY_HAS(refusal(with_key_twice(byte_level_file(), "use_regex", "false")), "appears twice");
  }
  void added_tokens_must_be_a_list() {
    Json file = byte_level_file();
    file["added_tokens"] = {{"id", 5}};
    VERIFY_HAS(refusal(file), "added_tokens: must be a list");
    file["added_tokens"] = nullptr;
    QVERIFY(open(file.dump()).has_value());
  }
  void L1_prefixes_of_a_file_are_no_json() {
    const std::string text = byte_fallback_file().dump();
    for (std::size_t n = 0; n < text.size(); n += 101)
      VERIFY_HAS(refusal(text.substr(0, n)), "tokenizer.json: not valid JSON");
  }
};

LATHE_TEST(TokenizerLimitsTest)

}  // namespace tokenizer_limits_test
#include "tokenizer_limits_test.moc"
