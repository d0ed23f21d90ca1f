// SPDX-License-Identifier: Apache-2.0
// Keywords of JSON Schema: each is enforced, or refused by name.
#include <QFile>
#include <QObject>
#include <QtTest>

#include "engine/sample/grammar/schema_keywords.h"
#include "tests/support/grammar_run.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace json_schema_test {

using namespace lathe;
using namespace lathe::engine::grammar;
using namespace lathe::tests;

namespace {

std::string constraint_of(const QByteArray& schema, const char* blanks = "flexible") {
  return R"({"json": )" + schema.toStdString() + R"(, "whitespace": ")" + blanks + "\"}";
}

}  // namespace

class JsonSchemaTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_keyword_is_enforced_data();
  void a_keyword_is_enforced();
  void every_keyword_of_the_table_is_tested_or_refused();
  void what_is_not_enforced_is_refused_by_name_data();
  void what_is_not_enforced_is_refused_by_name();
  void blanks_are_bounded();
  void properties_come_in_the_order_of_the_schema();
  void names_of_other_members_are_never_those_of_the_schema();
};

void JsonSchemaTest::a_keyword_is_enforced_data() {
  QTest::addColumn<QByteArray>("schema");
  QTest::addColumn<QList<QByteArray>>("valid");
  QTest::addColumn<QList<QByteArray>>("invalid");
  const auto row = [](const char* schema, const QList<QByteArray>& valid, const QList<QByteArray>& invalid) {
    QTest::newRow(schema) << QByteArray(schema) << valid << invalid;
  };
  row("true", {"1", "\"a\"", "null", "[]", "{}", "[[1,{\"a\":[]}],-0.5e+3]"},
      {"", "01", "1.", "[1,]", "{a:1}", "nul", "\"\\x\""});
  row(R"({"type": "string"})", {R"("")", R"("a\n\u00e9\ud83d\ude00")", "\"\xC3\xA9\""},
      {"1", "\"a", "\"\n\"", R"("\ud83d")", R"("\ude00")", "\"\xC3\""});
  row(R"({"type": ["integer", "null"]})", {"0", "-12", "null"}, {"1.5", "true", "-", "00", "1e3"});
  row(R"({"type": "boolean"})", {"true", "false"}, {"1", "null"});
  row(R"({"type": "integer", "nullable": true})", {"7", "null"}, {"false"});
  row(R"({"enum": ["a", 1, null, [1, {"b": true}], "é\n"]})", {"\"a\"", "1", "null", "[1,{\"b\":true}]", "\"é\\n\""},
      {"2", "\"b\"", "[1]"});
  row(R"({"const": "x y"})", {"\"x y\""}, {"\"x\"", "1"});
  row(R"({"type": "string", "enum": ["a", 1, "bcd"], "maxLength": 2})", {"\"a\""}, {"1", "\"bcd\""});
  row(R"({"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 1}]})", {"3", "\"a\""}, {"\"ab\"", "null"});
  row(R"({"oneOf": [{"type": "integer"}, {"type": "string"}]})", {"3", "\"ab\""}, {"null"});
  row(R"({"type": "integer", "anyOf": [{"minimum": 10}, {"maximum": -10}]})", {"10", "-11"}, {"9", "-9", "0"});
  row(R"({"allOf": [{"type": "number", "minimum": 2}, {"type": "integer", "maximum": 4}]})", {"2", "4"}, {"1", "5", "2.5"});
  row(R"({"$defs": {"a/b": {"type": "integer"}}, "$ref": "#/$defs/a~1b"})", {"1"}, {"\"a\""});
  row(R"({"$defs": {"n": {"properties": {"n": {"$ref": "#/$defs/n"}}}}, "$ref": "#/$defs/n"})",
      {"{}", R"({"n":{}})", R"({"n":{"n":{"n":{}}}})"}, {R"({"n":1})", R"({"m":{}})"});
  row(R"({"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"]})", {R"({"a":1,"b":2})", R"({"b":[]})"},
      {"{}", R"({"a":1})", R"({"b":1,"c":1})", R"({"a":"x","b":1})"});
  row(R"({"type": "object", "required": ["z"], "properties": {"a": {"type": "null"}}})",
      {R"({"a":null,"z":1})", R"({"z":{}})"}, {R"({"a":null})"});
  row(R"({"properties": {"ab": {"type": "null"}}, "additionalProperties": {"type": "integer"}})",
      {R"({"ab":null})", R"({"a":1,"abc":2})", R"({"ab":null,"b":3,"é":4})"},
      {R"({"ab":1})", R"({"a":null})", R"({"\u0061b":1})"});
  row(R"({"type": "object", "additionalProperties": false})", {"{}"}, {R"({"a":1})"});
  row(R"({"type": "object", "patternProperties": {"^x[0-9]$": {"type": "integer"}}})", {"{}", R"({"x1":1,"x2":2})"},
      {R"({"x":1})", R"({"x1":"a"})"});
  row(R"({"type": "object", "propertyNames": {"maxLength": 2}, "additionalProperties": {"type": "null"}})",
      {R"({"ab":null})"}, {R"({"abc":null})", R"({"a":1})"});
  row(R"({"properties": {"a": {}, "b": {}, "c": {}}, "minProperties": 2})", {R"({"a":1,"c":1})", R"({"a":1,"b":1,"c":1})"},
      {"{}", R"({"c":1})"});
  row(R"({"additionalProperties": {"type": "integer"}, "maxProperties": 2})", {"{}", R"({"a":1,"b":1})"},
      {R"({"a":1,"b":1,"c":1})"});
  row(R"({"properties": {"a": {}}, "unevaluatedProperties": false})", {R"({"a":1})"}, {R"({"b":1})"});
  row(R"({"items": {"type": "integer"}})", {"[]", "[1,2,3]"}, {"[null]", "[1,\"a\"]"});
  row(R"({"prefixItems": [{"type": "integer"}, {"type": "null"}], "items": {"type": "boolean"}, "minItems": 1})",
      {"[1]", "[1,null]", "[1,null,true]"}, {"[]", "[null]", "[1,null,1]"});
  row(R"({"items": [{"type": "integer"}], "additionalItems": false, "unevaluatedItems": false})", {"[]", "[1]"}, {"[1,1]"});
  row(R"({"type": "array", "minItems": 2, "maxItems": 6, "items": {"const": 1}})", {"[1,1]", "[1,1,1,1,1,1]"},
      {"[1]", "[1,1,1,1,1,1,1]"});
  row(R"({"type": "string", "minLength": 2, "maxLength": 3})", {"\"ab\"", "\"a\\\"b\"", "\"日本語\"", R"("\ud83d\ude00a")"},
      {"\"a\"", "\"abcd\"", R"("\ud83d\ude00")"});
  row(R"({"type": "string", "minLength": 40})", {"\"0123456789012345678901234567890123456789\""},
      {"\"012345678901234567890123456789012345678\""});
  row(R"({"type": "string", "pattern": "^a+$|b"})", {"\"aa\"", "\"xby\""}, {"\"ax\"", "\"\""});
  row(R"({"type": "string", "pattern": "^[^a]\\s\"$"})", {"\"b \\\"\"", "\"\\n\\t\\\"\""}, {"\"a \\\"\"", "\"b\\\"\""});
  row(R"({"type": "string", "pattern": "^(ab)*$", "minLength": 3, "maxLength": 5})", {"\"abab\""}, {"\"ab\"", "\"ababab\""});
  row(R"({"type": "string", "format": "date"})", {"\"2024-02-28\"", "\"1999-12-31\""},
      {"\"2024-02-30\"", "\"2024-13-01\"", "\"24-1-1\""});
  row(R"({"type": "string", "format": "date-time"})", {"\"2024-02-28T23:59:59Z\"", "\"2024-02-28T00:00:00.5+01:30\""},
      {"\"2024-02-28\"", "\"2024-02-28T24:00:00Z\""});
  row(R"({"type": "string", "format": "uuid"})", {"\"123e4567-e89b-12d3-a456-426614174000\""}, {"\"123e4567\""});
  row(R"({"type": "string", "format": "ipv4"})", {"\"127.0.0.1\"", "\"255.255.255.255\""}, {"\"256.0.0.1\"", "\"1.2.3\""});
  row(R"({"type": "string", "format": "email"})", {"\"a.b@example.org\""}, {"\"a@b\"", "\"@example.org\""});
  row(R"({"type": "integer", "format": "int32"})", {"2147483647", "-2147483648"}, {"2147483648"});
  row(R"({"type": "integer", "minimum": 5, "maximum": 123})", {"5", "99", "123"}, {"4", "124", "-5", "05", "1230"});
  row(R"({"type": "integer", "exclusiveMinimum": -3, "exclusiveMaximum": 3})", {"-2", "0", "2"}, {"-3", "3", "-0"});
  row(R"({"type": "number", "minimum": -1.25, "exclusiveMaximum": 2.5})", {"-1.25", "0.0", "2.49", "-0.5", "2"},
      {"-1.26", "2.5", "2.50", "-2", "3"});
  row(R"({"type": "number", "exclusiveMinimum": 0})", {"0.001", "7"}, {"0", "0.0", "-1"});
  row(R"({"type": "integer", "multipleOf": 7, "minimum": 10})", {"14", "700"}, {"7", "15"});
  row(R"({"type": "number", "multipleOf": 0.01})", {"1.25", "3", "0.5"}, {"1.255"});
}

void JsonSchemaTest::a_keyword_is_enforced() {
  QFETCH(QByteArray, schema);
  QFETCH(QList<QByteArray>, valid);
  QFETCH(QList<QByteArray>, invalid);
  const std::string constraint = constraint_of(schema, "none");
  QCOMPARE(refusal_of(constraint), std::string());
  for (const QByteArray& text : valid) QVERIFY2(has(constraint, text.toStdString()), text);
  for (const QByteArray& text : invalid) QVERIFY2(!has(constraint, text.toStdString()), text);
}

void JsonSchemaTest::every_keyword_of_the_table_is_tested_or_refused() {
  QFile source(QString(LATHE_SOURCE_DIR) + "/tests/engine/sample/grammar/json_schema_test.cpp");
  QVERIFY(source.open(QIODevice::ReadOnly));
  const QByteArray tested = source.readAll();
  for (const SchemaKeyword& keyword : schema_keywords()) {
    const QByteArray name(keyword.name.data(), static_cast<int>(keyword.name.size()));
    if (keyword.fate == KeywordFate::enforced) QVERIFY2(tested.contains("\"" + name + "\""), name);
    if (keyword.fate != KeywordFate::refused) continue;
    const std::string refusal =
        refusal_of(R"({"json": {"properties": {"p": {")" + std::string(keyword.name) + R"(": {}}}}})");
    VERIFY_HAS(refusal, "structured_outputs.json.properties.p." + std::string(keyword.name) +
                            ": this keyword of JSON Schema is not enforced");
  }
}

void JsonSchemaTest::what_is_not_enforced_is_refused_by_name_data() {
  QTest::addColumn<QByteArray>("schema");
  QTest::addColumn<QByteArray>("where");
  const auto row = [](const char* schema, const char* where) {
    QTest::newRow(schema) << QByteArray(schema) << QByteArray(where);
  };
  row(R"({"typ": "string"})", ".typ: this keyword is not known");
  row(R"({"type": "something"})", ".type: must be one of");
  row(R"({"items": {"uniqueItems": true}})", ".items.uniqueItems");
  row(R"({"anyOf": [true, {"not": {}}]})", ".anyOf[1].not");
  row(R"({"type": "string", "format": "color"})", ".format: the format \"color\" is not enforced");
  row(R"({"type": "string", "pattern": "(["})", ".pattern: at byte");
  row(R"({"type": "string", "pattern": "(?=a)b"})", ".pattern: at byte 0: lookahead");
  row(R"({"type": "string", "minLength": -1})", ".minLength: must be a whole number");
  row(R"({"type": "number", "multipleOf": 0.3})", ".multipleOf");
  row(R"({"$ref": "http://127.0.0.1:1/x.json"})", ".$ref: only references within the schema");
  row(R"({"properties": {"a": {"$ref": "#/$defs/no"}}})", ".properties.a.$ref: the schema has no #/$defs/no");
  row(R"({"$ref": "#"})", ": allows no text at all");
  row(R"({"$ref": "#", "type": "object"})", "references or allOf in one another");
  row(R"({"properties": {"a": {"type": "integer", "minimum": 2, "maximum": 1}}, "required": ["a"]})",
      ": allows no text at all");
  row(R"({"oneOf": [{"type": "integer"}, {"type": "number"}]})", ".oneOf: alternatives 0 and 1 may hold");
  row(R"({"allOf": [{"pattern": "a"}, {"pattern": "b"}]})", ".pattern: two schemas for one value");
  row(R"({"type": "object", "patternProperties": {"a": {}}, "properties": {"ba": {}}})",
      ".patternProperties: the pattern \"a\" matches");
  row("7", ": must be a schema");
}

void JsonSchemaTest::what_is_not_enforced_is_refused_by_name() {
  QFETCH(QByteArray, schema);
  QFETCH(QByteArray, where);
  const std::string refusal = refusal_of(constraint_of(schema));
  QVERIFY2(refusal.starts_with("structured_outputs.json"), refusal.c_str());
  VERIFY_HAS(refusal, where.toStdString());
}

void JsonSchemaTest::blanks_are_bounded() {
  const QByteArray schema = R"({"type": "array", "items": {"properties": {"a": {"const": 1}, "b": {"const": 2}}}})";
  const std::string flexible = constraint_of(schema), fixed = constraint_of(schema, "fixed"),
                    none = constraint_of(schema, "none");
  QVERIFY(has(flexible, "[\n  {\n  \"a\": 1,\n  \"b\": 2\n  },  {}\n]"));
  QVERIFY(!begins(flexible, "[   ") && !begins(flexible, "[\n\n") && !begins(flexible, " ") &&
          !begins(flexible, "[{\"a\" "));
  QVERIFY(has(fixed, "[{\"a\": 1, \"b\": 2}, {}]") && !begins(fixed, "[{\"a\":1") && !begins(fixed, "[ "));
  QVERIFY(has(none, "[{\"a\":1,\"b\":2},{}]") && !begins(none, "[{\"a\": "));
  const std::string own = R"({"json": )" + schema.toStdString() + R"(, "whitespace_pattern": "\\t*"})";
  QVERIFY(has(own, "[\t\t{\"a\":\t1}]") && !begins(own, "[ "));
}

void JsonSchemaTest::properties_come_in_the_order_of_the_schema() {
  const std::string constraint = constraint_of(R"({"properties": {"z": {}, "a": {}, "m": {}}})", "none");
  QVERIFY(has(constraint, R"({"z":1,"a":1,"m":1})") && has(constraint, R"({"z":1,"m":1})"));
  QVERIFY(!begins(constraint, R"({"a":1,"z")") && !begins(constraint, R"({"z":1,"z")"));
}

void JsonSchemaTest::names_of_other_members_are_never_those_of_the_schema() {
  const std::string constraint = constraint_of(
      R"({"properties": {"a\"b": {"const": 1}, "日本": {"const": 2}}, "additionalProperties": {"const": 0}})", "none");
  QVERIFY(has(constraint, R"({"a\"b":1,"日本":2,"a\"":0,"日":0,"日本語":0})"));
  QVERIFY(!has(constraint, R"({"a\"b":0})") && !has(constraint, R"({"日本":0})"));
}

LATHE_TEST(JsonSchemaTest)

}  // namespace json_schema_test
#include "json_schema_test.moc"
