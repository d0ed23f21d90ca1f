// SPDX-License-Identifier: Apache-2.0
// Answers that the grammar of calls allows are calls for the format's own parser, with arguments that hold to the schemas.
#include <QObject>
#include <QtTest>
#include <array>
#include <random>

#include "engine/api/call_grammar.h"
#include "engine/sample/grammar/matcher.h"
#include "engine/sample/grammar/structured_outputs.h"
#include "engine/text/tool_calls/harmony_parser.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/call_samples.h"
#include "tests/support/schema_fault.h"
#include "tests/support/test_class.h"

namespace call_grammar_test {

using namespace lathe;
using namespace lathe::engine;
using tests::kCallSamples;
using tests::schema_fault;

/// Bytes, then ends of texts in the formats as plain tokens, then the markers of a format as control tokens.
class MarkerTokenizer final : public tests::ByteTokenizer {
 public:
  explicit MarkerTokenizer(std::vector<std::string> markers) : markers_(std::move(markers)) {
    pieces_ = {"</parameter>", "\n</parameter>",           "</arg_value>", "<escape>", "<|\"|>",
               "</tool_call>", "<|end|><|start|>assistant"};
    n_plain_ = static_cast<std::int32_t>(pieces_.size());
    pieces_.insert(pieces_.end(), markers_.begin(), markers_.end());
  }
  std::int32_t vocab_size() const override { return kVocabSize + static_cast<std::int32_t>(pieces_.size()); }
  bool is_special(std::int32_t id) const override {
    return id < kVocabSize ? ByteTokenizer::is_special(id) : id >= kVocabSize + n_plain_;
  }
  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    const auto found = std::find(pieces_.begin() + n_plain_, pieces_.end(), piece);
    if (found == pieces_.end()) return std::nullopt;
    return kVocabSize + static_cast<std::int32_t>(found - pieces_.begin());
  }
  std::string piece(std::int32_t id) const override {
    return id < kVocabSize ? ByteTokenizer::piece(id) : pieces_[static_cast<std::size_t>(id - kVocabSize)];
  }
  std::string decode_bytes(std::int32_t id, bool) const override { return piece(id); }
  bool is_piece(std::int32_t id) const { return id >= kVocabSize; }

 private:
  std::vector<std::string> markers_, pieces_;
  std::int32_t n_plain_ = 0;
};

std::vector<std::string> tokens_of_format(const std::string& format) {
  if (format == "openai") return {kHarmonyMarkers.begin(), kHarmonyMarkers.end()};
  return tests::sample_of(format).tokens;
}

class Schemas {
 public:
  explicit Schemas(std::uint32_t seed) : random_(seed) {}

  OrderedJson tool(const std::string& name) {
    OrderedJson function = {{"name", name}};
    if (random_() % 6 != 0) function["parameters"] = object(0);
    return {{"type", "function"}, {"function", std::move(function)}};
  }

 private:
  OrderedJson object(int depth) {
    constexpr std::array kNames = {"city", "n_days", "unit", "x", "deep", "text"};
    OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
    for (auto n = random_() % 4; n > 0; --n) {
      const char* name = kNames[random_() % kNames.size()];
      if (properties.contains(name)) continue;
      properties[name] = value(depth);
      if (random_() % 2 == 0) required.push_back(name);
    }
    return {{"type", "object"}, {"properties", std::move(properties)}, {"required", std::move(required)}};
  }
  OrderedJson value(int depth) {
    switch (random_() % (depth < 2 ? 12 : 10)) {
      case 0: return {{"type", "string"}};
      case 1: return {{"type", "string"}, {"maxLength", 5}};
      case 2: return {{"type", "string"}, {"minLength", 2}};
      case 3: return {{"enum", {"celsius", "<kelvin>", "5", "\"q\""}}};
      case 4: return {{"type", "integer"}, {"minimum", -3}, {"maximum", 700}};
      case 5: return {{"type", "boolean"}};
      case 6: return {{"type", "number"}};
      case 7: return {{"type", {"string", "null"}}, {"maxLength", 3}};
      case 8: return {{"enum", {1, 2.5, true}}};
      case 9: return {{"anyOf", {{{"type", "integer"}}, {{"type", "null"}}}}};
      case 10: return {{"type", "array"}, {"items", value(depth + 1)}, {"maxItems", 3}};
      default: return object(depth + 1);
    }
  }

  std::mt19937 random_;
};

/// One answer, as the engine would give it.
struct Walk {
  std::string text;
  std::vector<TextMark> marks;
  bool is_whole = false, is_stuck = false;
};

class Answers {
 public:
  Answers(const std::string& format, bool has_tokens)
      : tokenizer_(has_tokens ? tokens_of_format(format) : std::vector<std::string>()) {
    const AnswerFormats formats{.tool_calls = format, .reasoning = {}};
    markers_ = answer_markers(formats, tokenizer_);
    reading_ = answer_reading(formats, markers_);
    reading_.prompt = "<|start|>assistant";
    std::vector<std::int32_t> ids;
    for (const AnswerMarker& marker : markers_) ids.push_back(marker.id);
    parts_ = {std::make_shared<const grammar::Vocabulary>(tokenizer_, tokenizer_.vocab_size(), ids),
              std::make_shared<grammar::TokenSetCache>()};
  }

  /// Compiles the grammar; "where: message" of an error.
  std::string demand(const CallDemand& demand) {
    reading_.tools = Json(demand.tools);
    const auto constraint = call_grammar(demand, reading_);
    if (!constraint) return constraint.error().where + ": " + constraint.error().message;
    const auto compiled = grammar::compile_constraint(dump_json(*constraint));
    if (!compiled) return compiled.error().where + ": " + compiled.error().message;
    automaton_ = compiled->automaton;
    return {};
  }

  /// Tokens that end a part of the format are likelier than others, so that texts end.
  Walk walk(std::uint32_t seed) const {
    std::mt19937 random(seed);
    grammar::Matcher matcher(automaton_, parts_);
    Walk out;
    for (int i = 0; i < 3000; ++i) {
      const grammar::TokenMask& mask = matcher.mask();
      std::vector<std::int32_t> ids, ends;
      for (std::int32_t id = 0; id < tokenizer_.vocab_size(); ++id) {
        if ((mask.words[static_cast<std::size_t>(id) / 64] >> (static_cast<std::size_t>(id) % 64) & 1) == 0) continue;
        ids.push_back(id);
        if (tokenizer_.is_piece(id) || std::string_view("\"]}),<").find(static_cast<char>(id)) != std::string_view::npos)
          ends.push_back(id);
      }
      out.is_whole = mask.may_end && (ids.empty() || random() % 3 == 0);
      out.is_stuck = ids.empty() && !mask.may_end;
      if (out.is_whole || out.is_stuck) return out;
      const std::vector<std::int32_t>& chosen = !ends.empty() && random() % 5 == 0 ? ends : ids;
      const std::int32_t token = chosen[random() % chosen.size()];
      if (std::any_of(markers_.begin(), markers_.end(), [&](const AnswerMarker& marker) { return marker.id == token; }))
        out.marks.push_back({out.text.size(), token});
      out.text += tokenizer_.piece(token);
      if (!matcher.accept(token)) out.is_stuck = true;
    }
    return out;
  }

  std::vector<AnswerDelta> read(const Walk& walk) const {
    auto parser = make_answer_parser(reading_).value();
    std::vector<AnswerDelta> deltas = parser->feed(walk.text, walk.marks);
    for (AnswerDelta& delta : parser->finish()) deltas.push_back(std::move(delta));
    return deltas;
  }

 private:
  MarkerTokenizer tokenizer_;
  std::vector<AnswerMarker> markers_;
  AnswerReading reading_;
  grammar::MatcherParts parts_;
  std::shared_ptr<const grammar::Automaton> automaton_;
};

/// Why a call is none of these tools with its arguments; empty: it is.
std::string call_fault(const CallDemand& demand, const ToolCall& call) {
  for (const OrderedJson& tool : demand.tools) {
    const OrderedJson& function = tool["function"];
    if (function["name"] != call.name || !demand.may_call(call.name)) continue;
    const auto arguments = parse_json(call.arguments, "");
    if (!arguments || !arguments->is_object()) return "no object: " + call.arguments;
    if (!function.contains("parameters") || !demand.follows_schema(function)) return {};
    const std::string fault = schema_fault(Json(function["parameters"]), *arguments);
    return fault.empty() ? fault : fault + " in " + call.arguments + " of " + dump_json(function["parameters"]);
  }
  return "no tool has the name " + call.name;
}

class CallGrammarTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void forced_calls_are_read_back_data();
  void forced_calls_are_read_back();
  void strict_calls_are_read_back_data() { forced_calls_are_read_back_data(); }
  void strict_calls_are_read_back();
  void a_name_that_a_format_cannot_write_is_refused();
  void a_keyword_of_the_whole_object_is_refused_where_arguments_come_one_by_one();
  void the_path_of_a_schema_that_is_not_supported_is_said();
  void the_spelling_of_a_marker_that_is_a_token_is_not_allowed();
};

void CallGrammarTest::forced_calls_are_read_back_data() {
  QTest::addColumn<QString>("format");
  QTest::addColumn<bool>("has_tokens");
  for (const std::string_view format : tool_call_format_names()) {
    const QString name = QString::fromUtf8(format.data(), static_cast<qsizetype>(format.size()));
    // Markers of gpt-oss are always tokens: a spelled one behind a backtick of the reasoning is text.
    if (format != "openai") QTest::addRow("%s, spelled", qPrintable(name)) << name << false;
    if (!tokens_of_format(std::string(format)).empty()) QTest::addRow("%s, tokens", qPrintable(name)) << name << true;
  }
}

void CallGrammarTest::forced_calls_are_read_back() {
  QFETCH(QString, format);
  QFETCH(bool, has_tokens);
  Answers answers(format.toStdString(), has_tokens);
  int n_whole = 0, most_calls = 0;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    Schemas schemas(seed);
    CallDemand demand{.tools = OrderedJson::array({schemas.tool("get_weather"), schemas.tool("f")}),
                      .is_required = true,
                      .is_parallel = seed % 3 != 0};
    if (seed % 4 == 0) demand.names = {"f"};
    QCOMPARE(answers.demand(demand), std::string());
    for (std::uint32_t k = 0; k < 4; ++k) {
      const Walk walk = answers.walk(seed * 4 + k);
      QVERIFY2(!walk.is_stuck, walk.text.c_str());
      if (!walk.is_whole) continue;
      ++n_whole;
      int n_calls = 0;
      for (const AnswerDelta& delta : answers.read(walk)) {
        if (delta.kind == AnswerDelta::Kind::reasoning) continue;
        QVERIFY2(delta.kind == AnswerDelta::Kind::call, (delta.text + "\nin: " + walk.text).c_str());
        const std::string fault = call_fault(demand, delta.call);
        QVERIFY2(fault.empty(), (fault + "\nin: " + walk.text).c_str());
        ++n_calls;
      }
      QVERIFY2(n_calls >= 1 && (demand.is_parallel || n_calls == 1), walk.text.c_str());
      most_calls = std::max(most_calls, n_calls);
    }
  }
  QVERIFY2(n_whole > 100, std::to_string(n_whole).c_str());
  QVERIFY(format == "openai" ? most_calls == 1 : most_calls > 1);
}

/// Text and calls by the model's choice: whatever is read as a call is a right one.
void CallGrammarTest::strict_calls_are_read_back() {
  QFETCH(QString, format);
  QFETCH(bool, has_tokens);
  Answers answers(format.toStdString(), has_tokens);
  int n_calls = 0, n_texts = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    Schemas schemas(seed);
    CallDemand demand{.tools = OrderedJson::array({schemas.tool("get_weather"), schemas.tool("f")})};
    demand.tools[0]["function"]["strict"] = true;
    QCOMPARE(answers.demand(demand), std::string());
    for (std::uint32_t k = 0; k < 4; ++k) {
      const Walk walk = answers.walk(seed * 4 + k);
      QVERIFY2(!walk.is_stuck, walk.text.c_str());
      if (!walk.is_whole) continue;
      for (const AnswerDelta& delta : answers.read(walk)) {
        if (delta.kind == AnswerDelta::Kind::call) {
          const std::string fault = call_fault(demand, delta.call);
          QVERIFY2(fault.empty(), (fault + "\nin: " + walk.text).c_str());
          ++n_calls;
        } else if (delta.kind == AnswerDelta::Kind::content) {
          ++n_texts;
        }
      }
    }
  }
  QVERIFY(n_texts > 0);
  // Without tokens no random text spells the marker of a call, and few begin as a call without a marker does.
  const bool is_bare = format == "pythonic" || format == "llama3_json";
  QVERIFY(n_calls > 0 || !has_tokens || is_bare);
}

CallDemand demand_of(const char* name, const char* parameters) {
  const OrderedJson function = {{"name", name}, {"parameters", parse_ordered_json(parameters, "").value()}};
  return {.tools = OrderedJson::array({OrderedJson{{"type", "function"}, {"function", function}}}), .is_required = true};
}

void CallGrammarTest::a_name_that_a_format_cannot_write_is_refused() {
  const CallDemand demand = demand_of("a b", "{}");
  QCOMPARE(Answers("hermes", true).demand(demand), std::string());
  QVERIFY(Answers("qwen3_coder", true).demand(demand).starts_with("tools[0].function.name: the call format qwen3_coder"));
  const CallDemand keyed = demand_of("f", R"({"properties": {"a>b": {}}})");
  QCOMPARE(Answers("mistral", true).demand(keyed), std::string());
  QVERIFY(Answers("glm45", true)
              .demand(demand_of("f", R"({"type": "array"})"))
              .starts_with("tools[0].function.parameters.type: "));
  QVERIFY(Answers("glm45", true).demand(keyed).starts_with("tools[0].function.parameters.properties.a>b: "));
}

void CallGrammarTest::a_keyword_of_the_whole_object_is_refused_where_arguments_come_one_by_one() {
  const CallDemand demand = demand_of("f", R"({"properties": {"a": {}, "b": {}}, "minProperties": 1})");
  QCOMPARE(Answers("hermes", false).demand(demand), std::string());
  QVERIFY(Answers("pythonic", false).demand(demand).starts_with("tools[0].function.parameters.minProperties: "));
}

void CallGrammarTest::the_path_of_a_schema_that_is_not_supported_is_said() {
  const CallDemand demand = demand_of("f", R"({"properties": {"a": {"type": "array", "contains": {}}}})");
  QVERIFY(!Answers("hermes", false).demand(demand).empty());
  QCOMPARE(call_schema_error(demand)->where, std::string("tools[0].function.parameters.properties.a.contains"));
  QCOMPARE(call_schema_error(demand_of("f", R"({"type": "array"})"))->where,
           std::string("tools[0].function.parameters.type"));
  QVERIFY(!call_schema_error(demand_of("f", R"({"properties": {"a": {"type": "string"}}})")));
}

void CallGrammarTest::the_spelling_of_a_marker_that_is_a_token_is_not_allowed() {
  for (const bool has_tokens : {true, false}) {
    Answers answers("hermes", has_tokens);
    QCOMPARE(answers.demand(demand_of("f", "{}")), std::string());
    const Walk walk = answers.walk(1);
    QCOMPARE(walk.marks.empty(), !has_tokens);
  }
}

LATHE_TEST(CallGrammarTest)

}  // namespace call_grammar_test
#include "call_grammar_test.moc"
