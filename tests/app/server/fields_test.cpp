// SPDX-License-Identifier: Apache-2.0
// Fields of other servers over HTTP: each is served, refused by name, or warned of, on both routes, whole and streamed.
#include <QtTest>
#include <set>

#include "app/server/known_fields.h"
#include "tests/support/field_bodies.h"
#include "tests/support/server_fixture.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace fields_test {

using namespace lathe;
using app::FieldFate;
using app::KnownField;
using engine::Json;
using tests::HttpClient;
using tests::HttpReply;

namespace {

std::vector<std::string> words(std::string_view list) {
  std::vector<std::string> out;
  for (const QByteArray& word : QByteArray(list.data(), static_cast<int>(list.size())).split(' '))
    if (!word.isEmpty()) out.push_back(word.toStdString());
  return out;
}

/// Values that the row says ask for nothing, and those that never do.
std::vector<Json> neutral_values(const KnownField& field) {
  std::vector<Json> values = {nullptr, "", Json::array()};
  if (!app::is_among(field.neutral, true)) values.push_back(false);
  if (!field.empty_asks) values.push_back(Json::object());
  for (const std::string& text : words(field.neutral)) values.push_back(Json::parse(text));
  return values;
}

/// A body in which the field asks for something, with one that it needs for that.
Json asking(const KnownField& field) {
  Json fields = {{std::string(field.name), 12345}};
  if (const auto others = words(field.with); !others.empty()) fields[others.front()] = 1.5;
  return fields;
}

bool needs_refused(const KnownField& field) {
  const auto others = words(field.with);
  if (others.empty()) return false;
  const KnownField* other = app::find_field(app::known_fields(), others.front());
  return other != nullptr && other->fate == FieldFate::refused;
}

bool warns_of(const Json& json, const std::string& name) { return tests::warning_of(json, name).starts_with(name + " "); }

}  // namespace

class FieldsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { fixture_ = std::make_unique<tests::ServerFixture>(); }
  void cleanup() { fixture_.reset(); }

  void rows_are_sound();
  void every_served_field_is_read();
  void refused_fields_are_named();
  void warned_fields_are_in_the_answer();
  void values_that_ask_for_nothing_pass_silently();
  void harmless_fields_pass_silently();
  void a_companion_of_nothing_asks_for_nothing();
  void an_empty_schema_asks_for_json();
  void aliases_are_served_data();
  void aliases_are_served();
  void an_alias_is_named_in_complaints();
  void names_of_one_field_must_agree();
  void no_limit_is_a_limit_of_null();
  void options_of_ollama_are_fields();
  void options_that_are_not_obeyed_are_warned_of();
  void unknown_fields_are_warned_of();
  void fields_of_another_route_are_warned_of();
  void streams_warn_in_their_first_chunk();
  void warnings_are_bounded();
  void a_field_is_logged_once();
  void misplaced_strict_is_warned_of_data();
  void misplaced_strict_is_warned_of();
  void only_answers_in_text_are_given();
  void do_sample_false_is_greedy();
  void tokenize_warns_of_unknown_fields_alone();

 private:
  HttpReply post(const std::string& route, const Json& fields) {
    return HttpClient(fixture_->port()).post(route, tests::field_body(route, fields));
  }
  engine::SamplingParams sampled() { return fixture_->engine().submitted().back().sampling; }

  std::unique_ptr<tests::ServerFixture> fixture_;
};

void FieldsTest::rows_are_sound() {
  std::set<std::string_view> names;
  for (const KnownField& field : app::known_fields()) {
    QVERIFY2(names.insert(field.name).second, std::string(field.name).c_str());
    QCOMPARE(field.fate == FieldFate::alias, !field.as.empty());
    if (field.fate == FieldFate::alias) {
      const KnownField* serving = app::find_field(app::known_fields(), field.as);
      QVERIFY2(serving != nullptr && serving->fate == FieldFate::served, std::string(field.name).c_str());
    }
  }
  for (const KnownField& field : app::known_fields()) {
    for (const std::string& other : words(field.with)) QVERIFY2(names.contains(other), other.c_str());
  }
  for (const KnownField& option : app::option_fields()) {
    if (option.fate != FieldFate::served) continue;
    const std::string_view to = option.as.empty() ? option.name : option.as;
    QVERIFY2(app::find_field(app::known_fields(), to) != nullptr, std::string(option.name).c_str());
  }
}

/// A value that no field can have is refused by the name of the field on some route.
void FieldsTest::every_served_field_is_read() {
  const Json impossible = Json::array({Json::array({{{"no", "such"}}})});
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::served && field.fate != FieldFate::alias && field.fate != FieldFate::options) continue;
    const std::string name(field.name);
    int n_refusals = 0;
    for (const char* route : {"/v1/completions", "/v1/chat/completions", "/tokenize", "/detokenize"}) {
      Json body = tests::field_body(route, Json::object());
      body[name] = impossible;
      const HttpReply reply = HttpClient(fixture_->port()).post(route, body);
      if (reply.status != 400) continue;
      const Json error = reply.json()["error"];
      n_refusals += error["param"].is_string() && error["param"].get<std::string>().starts_with(name) ? 1 : 0;
    }
    QVERIFY2(n_refusals > 0, name.c_str());
  }
}

void FieldsTest::refused_fields_are_named() {
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::refused) continue;
    for (const char* route : tests::kFieldRoutes) {
      const HttpReply reply = post(route, asking(field));
      QCOMPARE(reply.status, 400);
      QCOMPARE(reply.json()["error"]["param"].get<std::string>(), std::string(field.name));
      VERIFY_HAS(reply.json()["error"]["message"].get<std::string>(), std::string(field.name));
    }
  }
  QVERIFY(fixture_->engine().submitted().empty());
}

void FieldsTest::warned_fields_are_in_the_answer() {
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::warned || needs_refused(field)) continue;
    for (const char* route : tests::kFieldRoutes) {
      const std::string name(field.name);
      const HttpReply reply = post(route, asking(field));
      QVERIFY2(reply.status == 200, (name + ": " + reply.body).c_str());
      QVERIFY2(warns_of(reply.json(), name), (name + ": " + reply.body).c_str());
      VERIFY_HAS(std::string(reply.field("Lathe-Ignored-Fields")), name);
    }
  }
}

void FieldsTest::values_that_ask_for_nothing_pass_silently() {
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::refused && field.fate != FieldFate::warned) continue;
    for (const Json& value : neutral_values(field)) {
      for (const char* route : tests::kFieldRoutes) {
        const HttpReply reply = post(route, {{std::string(field.name), value}});
        QVERIFY2(reply.status == 200, (std::string(field.name) + ": " + reply.body).c_str());
        QVERIFY2(!reply.json().contains("warnings"), reply.body.c_str());
        QVERIFY(reply.field("Lathe-Ignored-Fields").empty());
      }
    }
  }
}

void FieldsTest::harmless_fields_pass_silently() {
  for (const KnownField& field : app::known_fields()) {
    if (field.fate != FieldFate::harmless) continue;
    for (const char* route : tests::kFieldRoutes) {
      const HttpReply reply = post(route, asking(field));
      QCOMPARE(reply.status, 200);
      QVERIFY2(!reply.json().contains("warnings"), reply.body.c_str());
    }
  }
}

/// Clients send the numbers of samplers that they have switched off.
void FieldsTest::a_companion_of_nothing_asks_for_nothing() {
  const Json off = {{"mirostat", 0},           {"mirostat_tau", 5},       {"mirostat_eta", 0.1},   {"dry_multiplier", 0},
                    {"dry_base", 1.75},        {"dry_allowed_length", 2}, {"xtc_probability", 0},  {"xtc_threshold", 0.1},
                    {"repeat_last_n", 64},     {"repeat_penalty", 1},     {"dynatemp_range", 0.0}, {"dynatemp_exponent", 1},
                    {"negative_prompt", "bad"}};
  for (const char* route : tests::kFieldRoutes) {
    const HttpReply reply = post(route, off);
    QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
    const Json warned =
        post(route, {{"repeat_last_n", 64}, {"repeat_penalty", 1.2}, {"mirostat_tau", 5}}).json()["warnings"];
    QCOMPARE(warned.size(), std::size_t(1));
    QCOMPARE(warned[0]["param"], "repeat_last_n");
  }
}

void FieldsTest::an_empty_schema_asks_for_json() {
  for (const char* route : tests::kFieldRoutes) {
    QCOMPARE(post(route, {{"format", Json::object()}}).json()["error"]["param"], "format");
    for (const char* name : {"json_schema", "guided_json"}) {
      QCOMPARE(post(route, {{name, Json::object()}}).status, 200);
      QCOMPARE(sampled().structured_outputs, std::string(R"({"json":{}})"));
    }
  }
}

void FieldsTest::aliases_are_served_data() {
  QTest::addColumn<QByteArray>("fields");
  QTest::addColumn<QByteArray>("served");
  const auto row = [](const char* fields, const char* served) {
    QTest::newRow(fields) << QByteArray(fields) << QByteArray(served);
  };
  row(R"({"repeat_penalty":1.5})", R"({"repetition_penalty":1.5})");
  row(R"({"n_predict":3})", R"({"max_tokens":3})");
  row(R"({"num_predict":3})", R"({"max_tokens":3})");
  row(R"({"max_new_tokens":3})", R"({"max_tokens":3})");
  row(R"({"max_output_tokens":3})", R"({"max_tokens":3})");
  row(R"({"max_completion_tokens":3})", R"({"max_tokens":3})");
  row(R"({"min_new_tokens":2})", R"({"min_tokens":2})");
  row(R"({"stop_sequences":["b","c"]})", R"({"stop":["b","c"]})");
  row(R"({"stop_sequences":"b"})", R"({"stop":"b"})");
  row(R"({"random_seed":7})", R"({"seed":7})");
  row(R"({"sampling_seed":7})", R"({"seed":7})");
  row(R"({"no_stop_trim":true,"stop":"b"})", R"({"include_stop_str_in_output":true,"stop":"b"})");
  row(R"({"max_new_tokens":3,"max_tokens":3})", R"({"max_tokens":3})");
  row(R"({"n_predict":3,"max_tokens":null})", R"({"max_tokens":3})");
  row(R"({"n_predict":-1,"max_tokens":3})", R"({"max_tokens":3})");
  row(R"({"options":{"seed":1,"temperature":0.5,"top_k":4,"top_p":0.5,"min_p":0.1,"num_predict":3,"repeat_penalty":1.5,"stop":["b"]}})",
      R"({"seed":1,"temperature":0.5,"top_k":4,"top_p":0.5,"min_p":0.1,"max_tokens":3,"repetition_penalty":1.5,"stop":["b"]})");
}

void FieldsTest::aliases_are_served() {
  QFETCH(QByteArray, fields);
  QFETCH(QByteArray, served);
  for (const char* route : tests::kFieldRoutes) {
    const HttpReply reply = post(route, Json::parse(fields.toStdString()));
    QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
    const engine::SamplingParams under_alias = sampled();
    QCOMPARE(post(route, Json::parse(served.toStdString())).status, 200);
    QVERIFY(under_alias == sampled());
  }
}

void FieldsTest::an_alias_is_named_in_complaints() {
  const std::pair<const char*, const char*> rows[] = {
      {R"({"repeat_penalty":"x"})", "repeat_penalty"},
      {R"({"repeat_penalty":-1})", "repeat_penalty"},
      {R"({"n_predict":0})", "n_predict"},
      {R"({"stop_sequences":[5]})", "stop_sequences[0]"},
      {R"({"options":{"top_p":7}})", "options.top_p"},
      {R"({"options":{"repeat_penalty":"x"}})", "options.repeat_penalty"},
      {R"({"options":[1]})", "options"},
      {R"({"min_new_tokens":-1})", "min_new_tokens"},
  };
  for (const auto& [fields, param] : rows) {
    for (const char* route : tests::kFieldRoutes) {
      const HttpReply reply = post(route, Json::parse(fields));
      QCOMPARE(reply.status, 400);
      QCOMPARE(reply.json()["error"]["param"].get<std::string>(), std::string(param));
      VERIFY_HAS(reply.json()["error"]["message"].get<std::string>(), std::string(param).substr(0, 9));
    }
  }
}

void FieldsTest::names_of_one_field_must_agree() {
  const std::tuple<const char*, const char*, const char*> rows[] = {
      {R"({"max_tokens":3,"n_predict":4})", "max_tokens", "n_predict"},
      {R"({"max_new_tokens":3,"n_predict":4})", "max_new_tokens", "n_predict"},
      {R"({"temperature":0.5,"options":{"temperature":1}})", "temperature", "options.temperature"},
      {R"({"repeat_penalty":1.2,"options":{"repeat_penalty":1.1}})", "repeat_penalty", "options.repeat_penalty"},
      {R"({"stop":"a","stop_sequences":["b"]})", "stop", "stop_sequences"},
      {R"({"do_sample":false,"temperature":0.7})", "do_sample", "temperature"},
  };
  for (const auto& [fields, first, second] : rows) {
    for (const char* route : tests::kFieldRoutes) {
      const HttpReply reply = post(route, Json::parse(fields));
      QCOMPARE(reply.status, 400);
      VERIFY_HAS(reply.body, first);
      VERIFY_HAS(reply.body, second);
    }
  }
  QVERIFY(fixture_->engine().submitted().empty());
}

/// llama.cpp and ollama write -1 where OpenAI has null.
void FieldsTest::no_limit_is_a_limit_of_null() {
  for (const Json& fields : {Json{{"n_predict", -1}}, Json{{"options", {{"num_predict", -2}}}}}) {
    QCOMPARE(post("/v1/completions", fields).status, 200);
    QCOMPARE(sampled().max_tokens, std::int64_t(4096 - 3));
  }
}

void FieldsTest::options_of_ollama_are_fields() {
  for (const char* route : tests::kFieldRoutes) {
    QCOMPARE(post(route, {{"options", {{"seed", 5}}}}).status, 200);
    QCOMPARE(*sampled().seed, std::uint64_t(5));
    for (const Json& nothing : {Json(nullptr), Json(false), Json(""), Json::object()}) {
      const HttpReply reply = post(route, {{"options", nothing}});
      QVERIFY2(reply.status == 200 && !reply.json().contains("warnings"), reply.body.c_str());
    }
  }
}

void FieldsTest::options_that_are_not_obeyed_are_warned_of() {
  for (const char* route : tests::kFieldRoutes) {
    const Json options = {{"num_ctx", 8192}, {"mirostat", 2},  {"mirostat_tau", 4}, {"typical_p", 1},
                          {"seed", 1},       {"stream", true}, {"num_keep", 0}};
    const HttpReply reply = post(route, {{"options", options}});
    QCOMPARE(reply.status, 200);
    std::set<std::string> warned;
    const Json json = reply.json();
    for (const Json& warning : json["warnings"]) warned.insert(warning["param"].get<std::string>());
    QCOMPARE(warned,
             (std::set<std::string>{"options.num_ctx", "options.mirostat", "options.mirostat_tau", "options.stream"}));
  }
}

void FieldsTest::unknown_fields_are_warned_of() {
  for (const char* route : tests::kFieldRoutes) {
    const HttpReply reply = post(route, {{"temprature", 0}, {"whatever", {{"a", {1}}}}, {"off", false}, {"none", nullptr}});
    QCOMPARE(reply.status, 200);
    const Json json = reply.json();
    QCOMPARE(json["warnings"].size(), std::size_t(2));
    QVERIFY(warns_of(json, "temprature") && warns_of(json, "whatever"));
    QCOMPARE(reply.field("Lathe-Ignored-Fields"), std::string("temprature, whatever"));
  }
}

void FieldsTest::fields_of_another_route_are_warned_of() {
  QVERIFY(warns_of(post("/v1/completions", {{"reasoning_effort", "low"}}).json(), "reasoning_effort"));
  QVERIFY(warns_of(post("/v1/chat/completions", {{"prompt", "x"}}).json(), "prompt"));
  QCOMPARE(post("/v1/chat/completions", {{"echo", true}}).json()["error"]["param"], "echo");
  QCOMPARE(post("/v1/chat/completions", {{"return_full_text", true}}).json()["error"]["param"], "return_full_text");
  QCOMPARE(post("/v1/completions", {{"return_full_text", true}, {"max_tokens", 1}}).json()["choices"][0]["text"], "aba");
  for (const char* route : tests::kFieldRoutes) {
    const Json nothing = {{"tool_choice", route == tests::kFieldRoutes[0] ? Json("none") : Json(nullptr)},
                          {"parallel_tool_calls", true}};
    QVERIFY(!post(route, nothing).json().contains("warnings"));
  }
}

void FieldsTest::streams_warn_in_their_first_chunk() {
  for (const char* route : tests::kFieldRoutes) {
    for (const int n : {1, 3}) {
      HttpClient client(fixture_->port());
      const Json body = tests::field_body(route, {{"typical_p", 0.5}, {"stream", true}, {"n", n}});
      client.send(client.request("POST", route, engine::dump_json(body)));
      const HttpReply head = client.read_head();
      QCOMPARE(head.field("Lathe-Ignored-Fields"), std::string("typical_p"));
      int n_chunks = 0, n_warning = 0;
      while (const auto event = client.read_event()) {
        if (*event == "[DONE]") continue;
        const Json chunk = engine::parse_json(*event, "event").value();
        if (warns_of(chunk, "typical_p")) n_warning += n_chunks == 0 ? 1 : 100;
        ++n_chunks;
      }
      QVERIFY(n_chunks >= 1);  // what a slow reader has not read is one chunk
      QCOMPARE(n_warning, 1);
    }
  }
}

void FieldsTest::warnings_are_bounded() {
  Json fields;
  for (int i = 0; i < 5000; ++i) fields["a field\r\n, " + std::to_string(i)] = 1;
  for (const char* route : tests::kFieldRoutes) {
    const HttpReply reply = post(route, fields);
    QCOMPARE(reply.status, 200);
    QCOMPARE(reply.json()["warnings"].size(), std::size_t(64));
    QVERIFY(reply.field("Lathe-Ignored-Fields").size() <= 1000);
    QVERIFY(reply.field("Lathe-Ignored-Fields").find('\r') == std::string::npos);
  }
  QCOMPARE(post(tests::kFieldRoutes[0], {{"options", fields}}).json()["warnings"].size(), std::size_t(64));
}

void FieldsTest::a_field_is_logged_once() {
  for (int i = 0; i < 3; ++i) {
    for (const char* route : tests::kFieldRoutes) post(route, {{"typical_p", 0.5}});
  }
  std::uint64_t cursor = 0;
  int n_lines = 0;
  for (const app::LogLine& line : fixture_->log().lines_since(cursor))
    n_lines += line.text.find("typical_p") != line.text.npos;
  QCOMPARE(n_lines, 1);
}

void FieldsTest::misplaced_strict_is_warned_of_data() {
  QTest::addColumn<QByteArray>("tools");
  QTest::addColumn<QByteArray>("warned");
  QTest::newRow("of a function") << QByteArray(R"([{"function":{"name":"f"}},{"function":{"name":"g","strict":true}}])")
                                 << QByteArray();
  QTest::newRow("of a tool") << QByteArray(R"([{"function":{"name":"f"},"strict":true}])") << QByteArray("tools[0].strict");
  QTest::newRow("false") << QByteArray(R"([{"function":{"name":"f","strict":false}}])") << QByteArray();
  QTest::newRow("null") << QByteArray(R"([{"function":{"name":"f","strict":null}}])") << QByteArray();
}

void FieldsTest::misplaced_strict_is_warned_of() {
  QFETCH(QByteArray, tools);
  QFETCH(QByteArray, warned);
  tests::FakeModel model;
  model.answer_formats = {"hermes", ""};
  fixture_->load(model);
  const HttpReply reply = post("/v1/chat/completions", {{"tools", Json::parse(tools.toStdString())}});
  QVERIFY2(reply.status == 200, reply.body.c_str());
  QCOMPARE(reply.json().contains("warnings"), !warned.isEmpty());
  if (!warned.isEmpty()) QVERIFY2(warns_of(reply.json(), warned.toStdString()), reply.body.c_str());
  const Json wrong = Json::parse(R"([{"function":{"name":"f","strict":"yes"}}])");
  QCOMPARE(post("/v1/chat/completions", {{"tools", wrong}}).json()["error"]["param"], "tools[0].function.strict");
}

void FieldsTest::only_answers_in_text_are_given() {
  for (const char* route : tests::kFieldRoutes) {
    QCOMPARE(post(route, {{"modalities", {"text"}}}).status, 200);
    for (const Json& sound : {Json({"text", "audio"}), Json::array({"audio"})})
      QCOMPARE(post(route, {{"modalities", sound}}).json()["error"]["param"], "modalities");
    QCOMPARE(post(route, {{"response_format", {{"type", "text"}}}}).status, 200);
    QCOMPARE(post(route, {{"response_format", {{"type", "xml"}}}}).json()["error"]["param"], "response_format.type");
  }
}

void FieldsTest::do_sample_false_is_greedy() {
  for (const char* route : tests::kFieldRoutes) {
    QCOMPARE(post(route, {{"do_sample", false}}).status, 200);
    QCOMPARE(sampled().temperature, 0.0);
    QCOMPARE(post(route, {{"do_sample", true}, {"temperature", 0.5}}).status, 200);
    QCOMPARE(sampled().temperature, 0.5);
  }
}

void FieldsTest::tokenize_warns_of_unknown_fields_alone() {
  const Json body = {{"prompt", "ab"}, {"temperature", 1}, {"typical_p", 0.5}, {"retrun_token_strs", true}};
  const HttpReply reply = HttpClient(fixture_->port()).post("/tokenize", body);
  QCOMPARE(reply.json()["count"], 3);
  QCOMPARE(reply.json()["warnings"].size(), std::size_t(1));
  QVERIFY(warns_of(reply.json(), "retrun_token_strs"));
  QVERIFY(warns_of(HttpClient(fixture_->port()).post("/detokenize", Json{{"tokens", {97}}, {"x", 1}}).json(), "x"));
}

LATHE_TEST(FieldsTest)

}  // namespace fields_test
#include "fields_test.moc"
