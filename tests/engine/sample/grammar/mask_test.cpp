// SPDX-License-Identifier: Apache-2.0
// The mask of a matcher is exactly the tokens whose bytes it reads; it can be copied and rolled back.
#include <QObject>
#include <QtTest>

#include "tests/support/grammar_run.h"
#include "tests/support/test_class.h"

namespace mask_test {

using namespace lathe::engine::grammar;
using namespace lathe::tests;

class MaskTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_mask_has_the_tokens_that_can_be_read_data();
  void a_mask_has_the_tokens_that_can_be_read();
  void control_tokens_and_padding_are_never_allowed();
  void a_control_token_is_allowed_where_a_grammar_asks_for_it();
  void a_rolled_back_matcher_is_where_it_was();
  void a_copy_goes_its_own_way();
  void the_end_is_forced_where_nothing_follows();
  void a_token_that_does_not_follow_changes_nothing();
  void equal_rules_of_two_grammars_share_their_tokens();
  void long_answers_keep_little();
  void an_ambiguous_grammar_is_followed();

 private:
  const MatcherParts parts_ = matcher_parts();
};

void MaskTest::a_mask_has_the_tokens_that_can_be_read_data() {
  QTest::addColumn<QByteArray>("constraint");
  const auto row = [](const char* constraint) { QTest::newRow(constraint) << QByteArray(constraint); };
  row(R"({"json_object": true})");
  row(R"({"regex": "(ab|a0)*b"})");
  row(R"({"regex": "a{2,500}b"})");
  row(R"({"regex": "(a|b|[0-9]{3}){50,90}"})");
  row(R"({"regex": "((a{3,70}b){40,}0)+"})");
  row(R"({"regex": "(a|aa|aaa)*é?"})");
  row(R"({"choice": ["a", "ab", "abba", "\"", "é"]})");
  row(R"({"grammar": "root ::= root \"a\" | \"b\""})");
  row(R"({"grammar": "root ::= \"a\" root \"b\" | \"0\""})");
  row(R"({"grammar": "root ::= item+\nitem ::= \"a\"{2,9} | \"b\" root \":\""})");
  row(R"({"json": {"type": "string", "maxLength": 40, "minLength": 30}})");
  row(R"({"json": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}, "minItems": 2, "maxItems": 5}})");
  row(R"({"json": {"properties": {"a": {"type": "number", "minimum": 0.5}, "b": {"type": "string"}, "n": {}}}})");
  row(R"({"json": {"additionalProperties": {"type": "boolean"}, "properties": {"ab": {}, "a0": {"const": "b"}}}})");
  row(R"({"structural_tag": {"triggers": ["{a"], "structures": [{"begin": "{a}", "schema": {"type": "integer"}, "end": "{b}"}]}})");
  row(R"({"structural_tag": {"format": {"type": "sequence", "elements": [{"type": "token", "token": 262},)"
      R"({"type": "star", "content": {"type": "or", "elements": [{"type": "token", "token": 258}, {"type": "const_string", "value": "a"}]}},)"
      R"({"type": "optional", "content": {"type": "any_text", "excludes": ["ab"]}}]}}})");
  row(R"({"structural_tag": {"format": {"type": "json_schema", "json_schema": {"type": "object"}, "style": "quoted", "open": [262], "close": [262]}}})");
}

void MaskTest::a_mask_has_the_tokens_that_can_be_read() {
  QFETCH(QByteArray, constraint);
  const Vocabulary& vocabulary = *parts_.vocabulary;
  for (std::uint32_t seed = 0; seed < 4; ++seed) {
    std::mt19937 random(seed);
    Matcher matcher = matcher_of(constraint.toStdString(), parts_);
    for (int step = 0; step < 25; ++step) {
      const std::vector<std::int32_t> allowed = tokens_of(matcher.mask());
      std::vector<std::int32_t> readable;
      for (std::size_t id = 0; id < vocabulary.n_logits(); ++id) {
        if (!matcher.accept(static_cast<std::int32_t>(id))) continue;
        matcher.rollback(1);
        readable.push_back(static_cast<std::int32_t>(id));
      }
      QCOMPARE(allowed, readable);
      if (allowed.empty()) break;
      QVERIFY(matcher.accept(allowed[random() % allowed.size()]));
    }
  }
}

void MaskTest::control_tokens_and_padding_are_never_allowed() {
  Matcher matcher = matcher_of(R"({"regex": "(.|\n)*"})", parts_);
  for (const std::int32_t id : tokens_of(matcher.mask())) {
    QVERIFY(id < ByteTokenizer::kBos || id >= ByteTokenizer::kVocabSize);
    QVERIFY(!parts_.vocabulary->text_of(id).empty());
  }
}

void MaskTest::a_control_token_is_allowed_where_a_grammar_asks_for_it() {
  Matcher matcher =
      matcher_of(R"({"structural_tag": {"format": {"type": "plus", "content": {"type": "token", "token": 262}}}})", parts_);
  for (int i = 0; i < 2; ++i) {
    QCOMPARE(tokens_of(matcher.mask()), std::vector<std::int32_t>{ByteTokenizer::kEnd});
    QCOMPARE(matcher.may_end(), i > 0);
    QVERIFY(!matcher.accept('a') && !matcher.accept(ByteTokenizer::kUser) && matcher.accept(ByteTokenizer::kEnd));
  }
  QVERIFY(refusal_of(R"({"structural_tag": {"format": {"type": "token", "token": "<|end|>"}}})")
              .starts_with("structured_outputs.structural_tag.format.token: "));
}

void MaskTest::a_rolled_back_matcher_is_where_it_was() {
  Matcher matcher = matcher_of(R"({"json_object": true})", parts_);
  std::vector<std::vector<std::uint64_t>> masks;
  std::mt19937 random(3);
  for (int i = 0; i < 40; ++i) {
    masks.push_back(matcher.mask().words);
    const auto allowed = tokens_of(matcher.mask());
    if (allowed.empty()) break;
    QVERIFY(matcher.accept(allowed[random() % allowed.size()]));
  }
  for (; matcher.n_kept() > 0; masks.pop_back()) {
    if (masks.size() > matcher.n_kept()) masks.resize(matcher.n_kept());
    matcher.rollback(1);
    QVERIFY(matcher.mask().words == masks.back());
  }
}

void MaskTest::a_copy_goes_its_own_way() {
  Matcher matcher = matcher_of(R"({"regex": "a(b|01)*c"})", parts_);
  QVERIFY(matcher.accept_bytes("ab"));
  Matcher copy = matcher;
  QVERIFY(copy.mask().words == matcher.mask().words);
  QVERIFY(copy.accept_bytes("0"));
  QVERIFY(!copy.accept_bytes("b") && matcher.accept_bytes("b"));
  QVERIFY(copy.accept_bytes("1c") && copy.may_end() && !matcher.may_end());
  copy.rollback(3);
  QVERIFY(copy.accept_bytes("ab"));
}

void MaskTest::the_end_is_forced_where_nothing_follows() {
  Matcher matcher = matcher_of(R"({"choice": ["a", "ab"]})", parts_);
  QVERIFY(!matcher.may_end() && !matcher.must_end());
  QVERIFY(matcher.accept_bytes("a"));
  QVERIFY(matcher.may_end() && !matcher.must_end() && matcher.mask().any && matcher.mask().may_end);
  QVERIFY(matcher.accept_bytes("b"));
  QVERIFY(matcher.may_end() && matcher.must_end() && !matcher.mask().any && matcher.mask().may_end);
}

void MaskTest::a_token_that_does_not_follow_changes_nothing() {
  Matcher matcher = matcher_of(R"({"regex": "ab"})", parts_);
  QVERIFY(!matcher.accept('b') && !matcher.accept(ByteTokenizer::kEos) && !matcher.accept(-1) && !matcher.accept(1 << 20));
  QCOMPARE(matcher.n_kept(), std::size_t{0});
  QVERIFY(matcher.accept('a') && matcher.accept('b'));
}

void MaskTest::equal_rules_of_two_grammars_share_their_tokens() {
  const MatcherParts parts = matcher_parts();
  const auto bytes_behind = [&](const char* constraint) {
    Matcher matcher = matcher_of(constraint, parts);
    if (!matcher.accept_bytes("{\"a\":\"")) return std::size_t{0};
    matcher.mask();
    return parts.sets->n_bytes();
  };
  const std::size_t before = bytes_behind(R"({"json": {"properties": {"a": {"type": "string"}}}})");
  QVERIFY(before > 0);
  QCOMPARE(bytes_behind(R"({"json": {"properties": {"a": {"type": "string"}, "b": {"type": "null"}}}})"), before);
}

void MaskTest::long_answers_keep_little() {
  Matcher matcher = matcher_of(R"({"json": {"type": "array", "items": {"type": "string", "maxLength": 1000}}})", parts_);
  QVERIFY(matcher.accept_bytes("["));
  const std::string item = "\"" + std::string(500, 'a') + "\",";
  for (int i = 0; i < 400; ++i) {
    QVERIFY(matcher.accept_bytes(item));
    QVERIFY(matcher.n_bytes() <= Matcher::kMaxBytes);
  }
  QVERIFY(!matcher.accept_bytes("]") && matcher.accept_bytes("\"\"]") && matcher.must_end());
}

void MaskTest::an_ambiguous_grammar_is_followed() {
  Matcher matcher = matcher_of(R"({"grammar": "root ::= root root | \"a\" | \"ab\" | \"b\""})", parts_);
  for (int i = 0; i < 60; ++i) QVERIFY(matcher.accept_bytes("ab"));
  QVERIFY(matcher.may_end() && !matcher.overflowed() && !matcher.accept_bytes("0"));
}

LATHE_TEST(MaskTest)

}  // namespace mask_test
#include "mask_test.moc"
