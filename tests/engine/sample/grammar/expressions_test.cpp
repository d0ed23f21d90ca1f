// SPDX-License-Identifier: Apache-2.0
// Regular expressions, choices, grammars and structural tags: what they have, and where their errors are.
#include <QObject>
#include <QtTest>

#include "tests/support/grammar_run.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace expressions_test {

using namespace lathe;
using namespace lathe::engine::grammar;
using namespace lathe::tests;

namespace {

std::string constraint_of(const char* kind, const QByteArray& text) {
  return engine::dump_json(engine::OrderedJson{{kind, text.toStdString()}});
}

}  // namespace

class ExpressionsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_expression_has_its_texts_data();
  void an_expression_has_its_texts();
  void a_wrong_expression_names_the_byte_data();
  void a_wrong_expression_names_the_byte();
  void a_grammar_has_its_texts_data();
  void a_grammar_has_its_texts();
  void a_wrong_grammar_names_the_byte_data();
  void a_wrong_grammar_names_the_byte();
  void choices_are_taken_as_they_are();
  void structural_tags_are_free_outside();
  void members_are_checked();
  void hostile_texts_end_in_time_data();
  void hostile_texts_end_in_time();
};

void ExpressionsTest::an_expression_has_its_texts_data() {
  QTest::addColumn<QByteArray>("expression");
  QTest::addColumn<QList<QByteArray>>("valid");
  QTest::addColumn<QList<QByteArray>>("invalid");
  const auto row = [](const char* expression, const QList<QByteArray>& valid, const QList<QByteArray>& invalid) {
    QTest::newRow(expression) << QByteArray(expression) << valid << invalid;
  };
  row("a|bc*", {"a", "b", "bccc"}, {"", "ac", "abc"});
  row("^(?:ab)+?$", {"ab", "abab"}, {"", "aba"});
  row("[a-c\\]-]{2}", {"a]", "-b"}, {"a", "dd", "abc"});
  row("\\d{3,}", {"123", "12345678"}, {"12", "12a"});
  row("x{,2}y", {"y", "xxy"}, {"xxxy"});
  row(".", {"a", "é", "日", "😀"}, {"", "\n", "ab"});
  row("[^a]", {"b", "é", "\n"}, {"a", ""});
  row("\\u00e9\\x41\\n\\.", {"éA\n."}, {"éA\nx"});
  row("\\p{Lu}\\w", {"Éa", "A_"}, {"aA"});
  row("(?P<name>a)(?<other>b)", {"ab"}, {"a"});
  row("a{3}{", {"aaa{"}, {"aaa"});
  row("(a{2}){40}", {QByteArray(80, 'a')}, {QByteArray(79, 'a'), QByteArray(81, 'a')});
}

void ExpressionsTest::an_expression_has_its_texts() {
  QFETCH(QByteArray, expression);
  QFETCH(QList<QByteArray>, valid);
  QFETCH(QList<QByteArray>, invalid);
  const std::string constraint = constraint_of("regex", expression);
  QCOMPARE(refusal_of(constraint), std::string());
  for (const QByteArray& text : valid) QVERIFY2(has(constraint, text.toStdString()), text);
  for (const QByteArray& text : invalid) QVERIFY2(!has(constraint, text.toStdString()), text);
}

void ExpressionsTest::a_wrong_expression_names_the_byte_data() {
  QTest::addColumn<QByteArray>("expression");
  QTest::addColumn<QByteArray>("refusal");
  const auto row = [](const char* expression, const char* refusal) {
    QTest::newRow(expression) << QByteArray(expression) << QByteArray(refusal);
  };
  row("ab(c", "at byte 2: this ( has no )");
  row("ab)", "at byte 2: unmatched )");
  row("a[bc", "at byte 1: this [ has no ]");
  row("*a", "at byte 0: nothing to repeat");
  row("a**", "at byte 2: nothing to repeat");
  row("a{3,2}", "at byte 1: at least 3 and at most 2");
  row("a\\", "at byte 1: a \\ at the end");
  row("(a)\\1", "at byte 3: references to groups");
  row("a\\b", "at byte 1: borders of words");
  row("(?!)", "at byte 0: lookahead");
  row("(?R)", "at byte 0: groups of the kind (?R");
  row("\\q", "at byte 0: the escape \\q is not known");
  row("[z-a]", "at byte 1: the range ends");
  row("a{99999999999}", "at byte 2: a count may be at most");
  row("\\p{Nonsense}", "at byte 0: no such property");
}

void ExpressionsTest::a_wrong_expression_names_the_byte() {
  QFETCH(QByteArray, expression);
  QFETCH(QByteArray, refusal);
  VERIFY_HAS(refusal_of(constraint_of("regex", expression)), "structured_outputs.regex: " + refusal.toStdString());
}

void ExpressionsTest::a_grammar_has_its_texts_data() {
  QTest::addColumn<QByteArray>("grammar");
  QTest::addColumn<QList<QByteArray>>("valid");
  QTest::addColumn<QList<QByteArray>>("invalid");
  const auto row = [](const char* name, const char* grammar, const QList<QByteArray>& valid,
                      const QList<QByteArray>& invalid) { QTest::newRow(name) << QByteArray(grammar) << valid << invalid; };
  row("sums", "root ::= expr\nexpr ::= term ((\"+\" | \"-\") term)*\nterm ::= [0-9]+ | \"(\" expr \")\"", {"1", "1+(2-3)"},
      {"1+", "(1", "1)"});
  row("left recursion", "root ::= root \"a\" | \"b\"", {"b", "baa"}, {"a", ""});
  row("right recursion", "root ::= \"a\" root | \"b\"", {"b", "aab"}, {"aa"});
  row("brackets", "root ::= \"[\" root* \"]\"", {"[]", "[[][[]]]"}, {"[", "[]]"});
  row("comments and lines", "# a grammar\nroot ::= # the root\n  \"a\" # a\n  | \"b\"\n\nother ::= \"c\"", {"a", "b"},
      {"c"});
  row("groups over lines", "root ::= (\n  \"a\"\n  \"b\"\n)+", {"ab", "abab"}, {"a"});
  row("counts", "root ::= \"a\"{2} [b]{1,} \"c\"{,2} \"d\"{0,40}", {"aab", "aabbccdd"}, {"ab", "aabccc"});
  row("escapes", "root ::= \"\\n\\x41\\u00e9\\\"\" [^\\n\\]a-c]", {"\nAé\"d"}, {"\nAé\"]", "\nAé\"a"});
  row("empty", "root ::= \"\" | \"a\"", {"", "a"}, {"b"});
  row("any", "root ::= . [é-ü]", {"日é"}, {"a"});
}

void ExpressionsTest::a_grammar_has_its_texts() {
  QFETCH(QByteArray, grammar);
  QFETCH(QList<QByteArray>, valid);
  QFETCH(QList<QByteArray>, invalid);
  const std::string constraint = constraint_of("grammar", grammar);
  QCOMPARE(refusal_of(constraint), std::string());
  for (const QByteArray& text : valid) QVERIFY2(has(constraint, text.toStdString()), text);
  for (const QByteArray& text : invalid) QVERIFY2(!has(constraint, text.toStdString()), text);
}

void ExpressionsTest::a_wrong_grammar_names_the_byte_data() {
  QTest::addColumn<QByteArray>("grammar");
  QTest::addColumn<QByteArray>("refusal");
  const auto row = [](const char* grammar, const char* refusal) {
    QTest::newRow(grammar) << QByteArray(grammar) << QByteArray(refusal);
  };
  row("a ::= \"a\"", "no rule is named \"root\"");
  row("root ::= \"a\" b", "at byte 13: the rule \"b\" is not defined");
  row("root ::= \"a", "at byte 9: this string has no end");
  row("root ::= (\"a\"", "at byte 9: this ( has no )");
  row("root ::= \"a\")", "at byte 12: unmatched )");
  row("root ::= \"a\"\nroot ::= \"b\"", "at byte 13: the rule \"root\" is defined twice");
  row("start: \"a\"", "at byte 5: ::= must follow the name of a rule; grammars of Lark");
  row("root ::= <think>", "at byte 9: tokens in a grammar are not supported");
  row("root ::= other\nother ::= root", "allows no text at all");
  row("", "no rule is named \"root\"");
}

void ExpressionsTest::a_wrong_grammar_names_the_byte() {
  QFETCH(QByteArray, grammar);
  QFETCH(QByteArray, refusal);
  const std::string got = refusal_of(constraint_of("grammar", grammar));
  VERIFY_HAS(got, "structured_outputs.grammar: ");
  VERIFY_HAS(got, refusal.toStdString());
}

void ExpressionsTest::choices_are_taken_as_they_are() {
  const std::string constraint = R"({"choice": ["yes", "a.b", "é\"", ""]})";
  for (const char* text : {"yes", "a.b", "é\"", ""}) QVERIFY2(has(constraint, text), text);
  for (const char* text : {"ye", "axb", "no"}) QVERIFY2(!has(constraint, text), text);
  VERIFY_HAS(refusal_of(R"({"choice": []})"), "structured_outputs.choice: must be a list");
  VERIFY_HAS(refusal_of(R"({"choice": ["a", 1]})"), "structured_outputs.choice[1]: must be a string");
}

void ExpressionsTest::structural_tags_are_free_outside() {
  const std::string older =
      R"({"structural_tag": {"triggers": ["<f="], "structures": [{"begin": "<f=a>", "schema": {"type": "integer"}, "end": "</f>"},
          {"begin": "<f=b>", "schema": {"type": "null"}, "end": "</f>"}]}})";
  QVERIFY(has(older, "") && has(older, "any text <f <g=>") && has(older, "x<f=a>12</f> and <f=b>null</f>."));
  QVERIFY(!begins(older, "<f=c") && !begins(older, "<f=a>n") && !has(older, "<f=a>1") && !begins(older, "<f=b>nullx"));
  const std::string newer =
      R"({"structural_tag": {"format": {"type": "sequence", "elements": [{"type": "const_string", "value": "T:"},
          {"type": "triggered_tags", "triggers": ["<a>"], "at_least_one": true, "stop_after_first": true,
           "tags": [{"type": "tag", "begin": "<a>", "content": {"type": "any_text"}, "end": "</a>"}]}]}}})";
  QVERIFY(has(newer, "T:<a>x < y</a>") && has(newer, "T:text<a></a>") && !has(newer, "T:text") &&
          !begins(newer, "T:<a></a>x"));
  const std::string separated =
      R"x({"structural_tag": {"format": {"type": "tags_with_separator", "separator": ",", "at_least_one": true,
          "tags": [{"type": "tag", "begin": "(", "content": {"type": "regex", "pattern": "[ab]+"}, "end": ")"}]}}})x";
  QVERIFY(has(separated, "(a)") && has(separated, "(a),(bb)") && !has(separated, "") && !has(separated, "(a),"));
  VERIFY_HAS(refusal_of(R"({"structural_tag": {"format": {"type": "or", "elements": [{"type": "magic"}]}}})"),
             "structured_outputs.structural_tag.format.elements[0].type: the format \"magic\" is not supported");
  VERIFY_HAS(refusal_of(R"({"structural_tag": {"format": {"type": "json_schema", "json_schema": {"not": {}}}}})"),
             "structured_outputs.structural_tag.format.json_schema.not");
}

void ExpressionsTest::members_are_checked() {
  VERIFY_HAS(refusal_of("{"), "structured_outputs: ");
  VERIFY_HAS(refusal_of("{}"), "structured_outputs: gives no constraint");
  VERIFY_HAS(refusal_of(R"({"regex": "a", "choice": ["a"]})"),
             "structured_outputs.choice: regex and choice are two constraints");
  VERIFY_HAS(refusal_of(R"({"lark": "a"})"), "structured_outputs.lark: is no constraint");
  VERIFY_HAS(refusal_of(R"({"regex": 1})"), "structured_outputs.regex: must be a string");
  VERIFY_HAS(refusal_of(R"({"regex": "a", "whitespace": "wide"})"), "structured_outputs.whitespace: must be");
  VERIFY_HAS(refusal_of(R"({"json": "{"})"), "structured_outputs.json: is no JSON");
  QVERIFY(has(R"({"json": "{\"type\": \"integer\"}", "regex": null})", "1"));
}

void ExpressionsTest::hostile_texts_end_in_time_data() {
  QTest::addColumn<QByteArray>("constraint");
  const auto row = [](const char* name, const char* kind, const QByteArray& text) {
    QTest::newRow(name) << QByteArray::fromStdString(constraint_of(kind, text));
  };
  row("groups", "grammar", "root ::= " + QByteArray(60'000, '(') + "\"a\"" + QByteArray(60'000, ')'));
  row("groups of an expression", "regex", QByteArray(60'000, '(') + QByteArray(60'000, ')'));
  row(
      "rules", "grammar", "root ::= r0\n" + [] {
        QByteArray rules;
        for (int i = 0; i < 60'000; ++i)
          rules += "r" + QByteArray::number(i) + " ::= \"a\" | r" + QByteArray::number((i * 7 + 1) % 60'000) + "\n";
        return rules;
      }());
  row("counts", "grammar", "root ::= (\"a\"{0,1000000000}){0,1000000000}");
  row("counts in counts", "regex", "((((a{1,1000}){1,1000}){1,1000}){1,1000}b){1000}");
  row("an expression that explodes", "regex", "(a|b)*a(a|b){22}");
  row("nested repeats", "regex", "(((a*)*)*)*(a+)+(a+)+b");
  row("many words", "regex", QByteArray("abcdefgh|").repeated(60'000) + "a");
  row("too long", "regex", QByteArray(2 << 20, 'a'));
  row("a deep schema", "json", QByteArray(R"({"items":)").repeated(120) + "true" + QByteArray("}").repeated(120));
  row("a wide schema", "json", [] {
    QByteArray schema = R"({"properties": {)";
    for (int i = 0; i < 3000; ++i) schema += (i > 0 ? ",\"p" : "\"p") + QByteArray::number(i) + "\": {}";
    return schema + "}}";
  }());
}

/// Whatever becomes of it, it ends, in bounded memory; nothing is measured but that the test goes on.
void ExpressionsTest::hostile_texts_end_in_time() {
  QFETCH(QByteArray, constraint);
  const auto made = compile_constraint(constraint.toStdString());
  if (!made) {
    VERIFY_HAS(made.error().where, "structured_outputs");
    QVERIFY(made.error().message.size() < 1024);
    return;
  }
  const MatcherParts parts = matcher_parts(200);
  QVERIFY(!random_text(Matcher(made->automaton, parts), parts, 1, 20).is_stuck);
}

LATHE_TEST(ExpressionsTest)

}  // namespace expressions_test
#include "expressions_test.moc"
