// SPDX-License-Identifier: Apache-2.0
// The demo model and one with random weights under every kind of constraint and call format: jump-ahead changes no token,
// alone and among others, in small steps and through preemption.
#include <QObject>
#include <QtTest>

#include <array>

#include "engine/api/call_grammar.h"
#include "engine/api/json.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fidelity.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace forced_text_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr std::array kConstraints = {
    R"({"json": {"type": "object", "properties": {"first_name": {"type": "string", "maxLength": 12},
        "year_of_birth": {"type": "integer", "minimum": 1800, "maximum": 2020}, "is_alive": {"type": "boolean"}},
        "required": ["first_name", "year_of_birth", "is_alive"]}})",
    R"({"whitespace": "fixed", "json": {"$ref": "#/$defs/node", "$defs": {"node": {"type": "object", "properties": {
        "name": {"enum": ["alpha", "alphabet", "beta"]}, "children": {"type": "array", "maxItems": 2,
        "items": {"$ref": "#/$defs/node"}}}, "required": ["name", "children"]}}}})",
    R"({"whitespace": "none", "json": {"type": "object", "properties": {"temperature_celsius": {"type": "number"},
        "température": {"const": "très élevée"}}, "required": ["temperature_celsius", "température"]}})",
    R"({"regex": "The (quick|slow) brown fox jumps over the (lazy|tired) dog[.!]"})",
    R"({"choice": ["Once upon a time there was a cat.", "Once upon a time there were two cats.", "日本語"]})",
    R"({"grammar": "root ::= \"SELECT \" name (\", \" name)? \" FROM table_of_\" name \" WHERE \" name \" = \" [0-9]{1,3}\nname ::= \"customer\" | \"custom\" | \"order_number\""})",
    R"({"structural_tag": {"format": {"type": "tag", "begin": "<answer>", "end": "</answer>", "content": {
        "type": "json_schema", "json_schema": {"type": "object", "properties": {"value": {"type": "integer"}},
        "required": ["value"]}}}}})"};

/// A call of either of two tools, in each format of calls.
std::vector<std::string> call_constraints(const engine::Tokenizer& tokenizer) {
  engine::CallDemand demand{.is_required = true};
  demand.tools = engine::parse_ordered_json(R"([{"type": "function", "function": {"name": "get_current_weather",
      "parameters": {"type": "object", "properties": {"city": {"type": "string", "maxLength": 8},
      "unit": {"enum": ["celsius", "fahrenheit"]}}, "required": ["city", "unit"]}}},
      {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {
      "time_zone": {"type": "integer"}}, "required": ["time_zone"]}}}])",
                                            "tools")
                     .value();
  std::vector<std::string> constraints;
  for (const std::string_view format : engine::tool_call_format_names()) {
    const engine::AnswerFormats formats{.tool_calls = std::string(format), .reasoning = {}};
    const auto made =
        engine::call_grammar(demand, engine::answer_reading(formats, engine::answer_markers(formats, tokenizer)));
    if (made) constraints.push_back(engine::dump_json(*made));
  }
  return constraints;
}

std::vector<engine::GenerateRequest> requests_for(engine::Engine& engine) {
  std::vector<std::string> constraints(kConstraints.begin(), kConstraints.end());
  for (std::string& call : call_constraints(engine.tokenizer())) constraints.push_back(std::move(call));
  std::vector<engine::GenerateRequest> requests;
  for (std::size_t i = 0; i < constraints.size(); ++i) {
    engine::GenerateRequest request = greedy_request(random_prompt(i, 12, 384), 70);
    request.sampling.temperature = i % 4 == 3 ? 0 : 1;
    request.sampling.seed = i;
    request.sampling.structured_outputs = constraints[i];
    requests.push_back(std::move(request));
  }
  return requests;
}

std::uint64_t jumped(const engine::Engine& engine) { return engine.snapshot()->counters.n_jumped_tokens; }

}  // namespace

class ForcedTextTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void jump_ahead_changes_no_token_data();
  void jump_ahead_changes_no_token();
};

void ForcedTextTest::jump_ahead_changes_no_token_data() {
  QTest::addColumn<QString>("model");
  QTest::addColumn<int>("n_chunk");
  QTest::addColumn<bool>("tight");
  for (const std::string& model : {tiny_model_path("tiny-llama"), source_path("resources/demo_model")}) {
    const QString name = QString::fromStdString(model);
    QTest::addRow("%s whole", qPrintable(name.section('/', -1))) << name << 512 << false;
    QTest::addRow("%s small steps, few blocks", qPrintable(name.section('/', -1))) << name << 16 << true;
  }
}

void ForcedTextTest::jump_ahead_changes_no_token() {
  QFETCH(QString, model);
  QFETCH(int, n_chunk);
  QFETCH(bool, tight);
  const auto alone = open_for(model.toStdString(), {});
  const auto together = open_for(model.toStdString(), {.isa = {}, .n_requests = 12, .n_chunk = n_chunk, .tight = tight});
  const auto requests = requests_for(*alone);
  QVERIFY(requests.size() > kConstraints.size() + 10);
  std::vector<engine::RequestHandlePtr> handles;
  for (const engine::GenerateRequest& request : requests) handles.push_back(together->submit(request).value());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    engine::GenerateRequest slow = requests[i];
    slow.sampling.structured_outputs = R"({"jump_ahead": false, )" + slow.sampling.structured_outputs.substr(1);
    const Answer expected = ask(*alone, slow), answer = collect(*handles[i]);
    QVERIFY2(!expected.all.error, expected.all.error ? expected.all.error->message.c_str() : "");
    QCOMPARE(answer.ids(), expected.ids());
    QCOMPARE(answer.all.text, expected.all.text);
    QCOMPARE(answer.all.finish_reason, expected.all.finish_reason);
  }
  QCOMPARE(jumped(*alone), std::uint64_t{0});
  QVERIFY(jumped(*together) > 200);
  if (tight) QVERIFY(together->snapshot()->counters.n_preemptions > 0);
  QCOMPARE(together->snapshot()->n_blocks_used, 0);
}

LATHE_TEST(ForcedTextTest)

}  // namespace forced_text_test
#include "forced_text_test.moc"
