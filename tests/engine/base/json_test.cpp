// SPDX-License-Identifier: Apache-2.0
#include "engine/api/python_json.h"

#include <QElapsedTimer>
#include <QTest>
#include <cmath>
#include <limits>
#include <string>

#include "tests/support/test_class.h"

namespace json_test {

using lathe::engine::dump_json;
using lathe::engine::ErrorCode;
using lathe::engine::Json;
using lathe::engine::JsonLimits;
using lathe::engine::OrderedJson;
using lathe::engine::parse_json;
using lathe::engine::parse_ordered_json;
using lathe::engine::parse_python_json;
using lathe::engine::parse_python_ordered_json;

namespace {

std::string message_of(std::string_view text) {
  const auto parsed = parse_json(text, "body");
  return parsed ? std::string() : parsed.error().message;
}
bool refused(std::string_view text) {
  const auto parsed = parse_json(text, "body");
  return !parsed && parsed.error().code == ErrorCode::invalid_argument && parsed.error().where == "body";
}

}  // namespace

class JsonTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void reads_every_kind_of_value() {
    const auto json = parse_json(R"({"a": [1, -2, 1.5, true, false, null], "b": {"c": "d\u00e9\n"}})", "x");
    QVERIFY(json.has_value());
    QCOMPARE((*json)["a"].size(), std::size_t{6});
    QCOMPARE((*json)["a"][1].get<int>(), -2);
    QCOMPARE((*json)["b"]["c"].get<std::string>(), std::string("d\xC3\xA9\n"));
  }
  void ordered_objects_keep_the_order_of_their_keys() {
    const std::string text = R"({"z":{"y":[{"b":1,"a":2}],"x":null},"a":-1,"m":{},"é":1.5,"u":18446744073709551615})";
    const auto json = parse_ordered_json(text, "x");
    QVERIFY(json.has_value());
    QCOMPARE(dump_json(*json), text);
  }
  void ordered_objects_are_refused_for_what_others_are() {
    for (const char* text :
         {"", "{", R"({"a":1,"b":2,"a":3})", R"({"a":{"b":1,"b":2}})", "[NaN]", "\xEF\xBB\xBF{}", "\"\xFF\""}) {
      const auto json = parse_ordered_json(text, "body");
      QVERIFY(!json && json.error().message == message_of(text) && json.error().where == "body");
    }
    QVERIFY(parse_ordered_json(R"({"a":{"b":1},"b":{"b":1}})", "x").has_value());
    QVERIFY(!parse_ordered_json(std::string(129, '[') + std::string(129, ']'), "x").has_value());
    QVERIFY(!parse_ordered_json("[1,2,3]", "x", {.max_depth = 4, .max_nodes = 3}).has_value());
  }
  /// Each level holds all below it and then grows.
  void S3_large_ordered_objects_take_linear_time() {
    std::string broad = "{\"k\":0";
    for (int i = 0; i < 200'000; ++i) broad += ",\"" + std::to_string(i) + "\":0";
    std::string text = broad + "}";
    for (int i = 0; i < 100; ++i) text = "{\"a\":" + text + ",\"b\":0,\"c\":0}";
    QElapsedTimer timer;
    timer.start();
    QVERIFY(parse_ordered_json(text, "x").has_value());
    QVERIFY2(timer.elapsed() < 10'000, QByteArray::number(timer.elapsed()).constData());
  }
  void a_scalar_is_a_document() {
    QCOMPARE(parse_json("5", "x")->get<int>(), 5);
    QVERIFY(parse_json("null", "x")->is_null());
  }
  void large_integers_stay_exact() {
    QCOMPARE(parse_json("9007199254740993", "x")->get<std::int64_t>(), std::int64_t{9007199254740993});
    QCOMPARE(parse_json("18446744073709551615", "x")->get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  }
  void S3_deep_nesting_is_refused() {
    QVERIFY(refused(std::string(100'000, '[')));
    QVERIFY(refused(std::string(100'000, '[') + std::string(100'000, ']')));
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    QVERIFY(refused(objects));
  }
  void S3_depth_counts_to_the_limit() {
    QVERIFY(parse_json(std::string(128, '[') + std::string(128, ']'), "x").has_value());
    QVERIFY(refused(std::string(129, '[') + std::string(129, ']')));
  }
  void S3_too_many_values_are_refused() {
    const JsonLimits limits{.max_depth = 4, .max_nodes = 10};
    QVERIFY(parse_json("[1,2,3,4,5,6,7,8,9]", "x", limits).has_value());
    QVERIFY(!parse_json("[1,2,3,4,5,6,7,8,9,10]", "x", limits).has_value());
  }
  void S3_duplicate_keys_are_refused() {
    QVERIFY(refused(R"({"a": 1, "a": 2})"));
    QVERIFY(refused(R"({"x": {"a": 1, "b": 2, "a": 1}})"));
    QVERIFY(message_of(R"({"temperature": 1, "temperature": 2})").find("temperature") != std::string::npos);
    QVERIFY(parse_json(R"([{"a": 1}, {"a": 2}])", "x").has_value());
  }
  void S3_a_nul_byte_does_not_end_the_text() {
    const std::string_view text("{\"a\": 1}\0{\"b\"", 13);
    QVERIFY(message_of(text).find("at byte 8: a NUL byte") != std::string::npos);
    QVERIFY(!parse_python_json(text, "x") && !parse_ordered_json(text, "x") && !parse_python_ordered_json(text, "x"));
  }
  void the_last_of_equal_keys_wins_where_python_reads() {
    const auto read = parse_python_ordered_json(R"({"b":{"x":1},"a":NaN,"b":[{"c":1,"c":2}],"a":3})", "x");
    QCOMPARE(dump_json(read.value()), std::string(R"({"b":[{"c":2}],"a":3})"));
    std::string many = "{\"a\":0";
    for (int i = 0; i < 200'000; ++i) many += ",\"a\":0,\"" + std::to_string(i) + "\":0";
    QCOMPARE(parse_python_ordered_json(many + "}", "x")->size(), std::size_t(200'001));
  }
  void S3_byte_order_mark_and_utf16_are_refused() {
    QVERIFY(refused("\xEF\xBB\xBF{}"));
    QVERIFY(refused(std::string_view("{\0}\0", 4)));
    QVERIFY(refused("\xFF\xFE{\0"));
  }
  void S3_invalid_utf8_is_refused() {
    QVERIFY(refused("\"\xC3\x28\""));
    QVERIFY(refused("\"\xED\xA0\x80\""));
    QVERIFY(refused("\"\xC4\xE3\xBA\xC3\""));  // GBK
  }
  void S3_lone_surrogates_are_refused() {
    QVERIFY(refused(R"("\ud800")"));
    QVERIFY(refused(R"("\udc00\ud800")"));
    QCOMPARE(parse_json(R"("\ud83e\udd99")", "x")->get<std::string>(), std::string("\xF0\x9F\xA6\x99"));
  }
  void S3_numbers_that_are_none_are_refused_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text : {"NaN", "Infinity", "-Infinity", "1e400", "-1e400", "01", "+1", "1.", ".5", "0x10", "1e"}) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void S3_numbers_that_are_none_are_refused() {
    QFETCH(QByteArray, text);
    QVERIFY(refused(text.toStdString()));
  }
  void S3_broken_documents_are_refused_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text :
         {"", " ", "{", "[1,]", "{\"a\":}", "{a:1}", "'a'", "[1] x", "{} {}", "tru", "\"a", "\"\t\"", "// c\n1"}) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void S3_broken_documents_are_refused() {
    QFETCH(QByteArray, text);
    QVERIFY(refused(text.toStdString()));
  }
  void what_python_writes_is_read_for_those_who_ask_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<double>("value");
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const auto row = [](const char* text, double value) { QTest::newRow(text) << QByteArray(text) << value; };
    row("NaN", std::numeric_limits<double>::quiet_NaN());
    row("Infinity", kInfinity);
    row("-Infinity", -kInfinity);
    row("1e400", kInfinity);
    row("-1E+400", -kInfinity);
    row("9e308", kInfinity);
    row("\xEF\xBB\xBF 1.5", 1.5);
    row(R"({"__float__": "Infinity"})", kInfinity);
    row(R"({"__float__": "-Infinity"})", -kInfinity);
    row(R"({"__float__": "NaN"})", std::numeric_limits<double>::quiet_NaN());
    row("1000000000000000019884624838656", 1e30);
    row("1e-400", 0);
    row("0.0", 0);
    row("-0e0", 0);
    row("1e308", 1e308);
  }
  void what_python_writes_is_read_for_those_who_ask() {
    QFETCH(QByteArray, text);
    QFETCH(double, value);
    const auto json = parse_python_json(text.toStdString(), "x");
    QVERIFY2(json.has_value(), json ? "" : json.error().message.c_str());
    const double got = json->get<double>();
    QVERIFY(std::isnan(value) ? std::isnan(got) : got == value);
  }
  void an_object_that_only_looks_like_a_number_stays_one() {
    for (const char* text : {R"({"__float__": "1.5"})", R"({"__float__": "infinite"})", R"({"__float__": 3})",
                             R"({"__float__": "NaN", "more": 1})", R"({"float": "NaN"})"}) {
      const auto json = parse_python_json(text, "x");
      QVERIFY2(json.has_value() && json->is_object(), text);
    }
    QVERIFY(parse_json(R"({"__float__": "NaN"})", "x")->is_object());
    const auto listed = parse_python_json(R"({"time_step_limit": [0.0, {"__float__": "Infinity"}]})", "x");
    QVERIFY(std::isinf(listed->at("time_step_limit").at(1).get<double>()));
  }
  void a_number_of_400_digits_is_infinite_and_one_below_all_is_none() {
    QVERIFY(std::isinf(parse_python_json("1" + std::string(400, '0'), "x")->get<double>()));
    QCOMPARE(parse_python_json("0." + std::string(400, '0') + "1", "x")->get<double>(), 0.0);
  }
  void what_python_writes_stays_a_text_in_strings_and_keys() {
    const std::string text = "{\"NaN\":\"Infinity\",\"a\\\\\":\"\\\"NaN\",\"b\":[NaN,\"\\\\\",-Infinity],\"c\":\"1e400\"}";
    const auto json = parse_python_json(text, "x");
    QVERIFY2(json.has_value(), json ? "" : json.error().message.c_str());
    QCOMPARE(dump_json(*json),
             std::string("{\"NaN\":\"Infinity\",\"a\\\\\":\"\\\"NaN\",\"b\":[null,\"\\\\\",null],\"c\":\"1e400\"}"));
  }
  void what_python_does_not_read_is_refused_at_its_byte_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QByteArray>("byte");
    const auto row = [](const char* text, const char* byte) { QTest::newRow(text) << QByteArray(text) << QByteArray(byte); };
    row("[NaN, Infinity, x]", "byte 16");
    row("{\"a\": NaN,}", "byte 10");
    row("[-Infinity] // no", "byte 12");
    row("nan", "byte ");
    row("Inf", "byte ");
    row("+Infinity", "byte 0");
    row("NaNs", "byte 3");
    row("{\"a\": 1, \"a\": 2}", "appears twice");
    row("\"NaN", "byte ");
  }
  void what_python_does_not_read_is_refused_at_its_byte() {
    QFETCH(QByteArray, text);
    QFETCH(QByteArray, byte);
    const auto json = parse_python_json(text.toStdString(), "x");
    QVERIFY(!json.has_value());
    QVERIFY2(json.error().message.find(byte.toStdString()) != std::string::npos, json.error().message.c_str());
  }
  void errors_name_the_byte() {
    QVERIFY(message_of("[1, 2, x]").find("byte 7") != std::string::npos);
    QVERIFY(message_of("\"ab\xFF\"").find("byte 3") != std::string::npos);
  }
  void errors_do_not_repeat_what_was_sent() {
    const std::string message = message_of("[\"secret-token-value\", oops]");
    QVERIFY(!message.empty());
    QVERIFY(message.find("secret") == std::string::npos);
    QVERIFY(message.size() < 1024);
  }
  void S3_writing_never_throws() {
    QCOMPARE(dump_json(Json("a\xFFz")), std::string("\"a\xEF\xBF\xBDz\""));
    QCOMPARE(dump_json(Json(std::numeric_limits<double>::quiet_NaN())), std::string("null"));
    QCOMPARE(dump_json(Json(-std::numeric_limits<double>::infinity())), std::string("null"));
    QCOMPARE(dump_json(Json("\xF0\x9F\xA6")), std::string("\"\xEF\xBF\xBD\""));
  }
  void writes_one_line_or_indented() {
    OrderedJson json;
    json["b"] = 1;
    json["a"] = {1, 2};
    QCOMPARE(dump_json(json), std::string(R"({"b":1,"a":[1,2]})"));
    QVERIFY(dump_json(json, 2).find("\n  \"a\"") != std::string::npos);
  }
  void what_is_written_reads_back() {
    const Json json = {{"text", "\"\\\n\t\x01 \xC3\xA9"}, {"list", {1, 2.5, nullptr, true}}};
    QVERIFY(*parse_json(dump_json(json), "x") == json);
  }
};

LATHE_TEST(JsonTest)

}  // namespace json_test
#include "json_test.moc"
