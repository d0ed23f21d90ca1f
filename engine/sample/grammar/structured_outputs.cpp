// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/structured_outputs.h"

#include <fmt/format.h>

#include <array>

#include "engine/api/json_value.h"
#include "engine/api/printable.h"
#include "engine/sample/grammar/ebnf.h"
#include "engine/sample/grammar/regex_rules.h"
#include "engine/sample/grammar/schema_rules.h"
#include "engine/sample/grammar/structural_tag.h"

namespace lathe::engine::grammar {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"json", "json_object", "regex", "choice", "grammar", "structural_tag"};
constexpr std::array<std::string_view, 5> kSettings = {"whitespace", "whitespace_pattern", "disable_any_whitespace",
                                                       "disable_additional_properties", "jump_ahead"};

/// Builds the grammar of one constraint.
class ConstraintReader {
 public:
  ConstraintReader(const OrderedJson& given, const GrammarLimits& limits) : given_(given), builder_(limits) {}

  Result<Constraint> read() {
    const auto begin = std::chrono::steady_clock::now();
    check_members();
    const Blanks blanks = read_blanks();
    const bool jump_ahead = read_jump_ahead();
    if (builder_.failed()) return tl::unexpected(*builder_.error());
    JsonRules json(builder_, blanks);
    const RuleId root = builder_.make_rule();
    const NodeId end = append(json, builder_.rule(root).start);
    builder_.add_empty(end, builder_.rule(root).final);
    auto automaton = make_automaton(builder_, root);
    if (!automaton) {
      Error error = automaton.error();
      if (!error.where.starts_with("structured_outputs")) error.where = where() + error.where;
      return tl::unexpected(std::move(error));
    }
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    return Constraint{kind_, std::make_shared<const Automaton>(std::move(*automaton)), us, jump_ahead};
  }

 private:
  std::string where() const { return "structured_outputs." + std::string(name_of(kind_)); }

  void check_members() {
    std::string_view first;
    for (const auto& [name, value] : given_.items()) {
      if (std::find(kSettings.begin(), kSettings.end(), name) != kSettings.end()) continue;
      const auto kind = std::find(kKinds.begin(), kKinds.end(), name);
      if (kind == kKinds.end()) {
        return builder_.refuse("is no constraint: one of json, json_object, regex, choice, grammar and structural_tag is",
                               "structured_outputs." + printable(name, 60));
      }
      if (value.is_null()) continue;
      if (!first.empty())
        return builder_.refuse(fmt::format("{} and {} are two constraints of one answer; give one", first, *kind),
                               "structured_outputs." + name);
      first = *kind;
      kind_ = static_cast<ConstraintKind>(kind - kKinds.begin());
    }
    if (first.empty())
      builder_.refuse("gives no constraint: one of json, json_object, regex, choice, grammar and structural_tag is needed",
                      "structured_outputs");
  }

  Blanks read_blanks() {
    Blanks blanks;
    const auto refuse = [&](const char* message, const char* name) {
      builder_.refuse(message, std::string("structured_outputs.") + name);
    };
    if (given_.value("disable_any_whitespace", OrderedJson(false)) == true) blanks.kind = Blanks::Kind::none;
    const OrderedJson kind = given_.value("whitespace", OrderedJson());
    if (kind == "fixed") blanks.kind = Blanks::Kind::fixed;
    else if (kind == "none") blanks.kind = Blanks::Kind::none;
    else if (!kind.is_null() && kind != "flexible") refuse("must be \"flexible\", \"fixed\" or \"none\"", "whitespace");
    const OrderedJson pattern = given_.value("whitespace_pattern", OrderedJson());
    if (pattern.is_null()) return blanks;
    if (!pattern.is_string()) refuse("must be a string", "whitespace_pattern");
    else if (const auto tree = parse_regex(pattern.get<std::string>(), builder_.limits().max_depth); !tree)
      refuse(tree.error().message.c_str(), "whitespace_pattern");
    else blanks = {Blanks::Kind::pattern, pattern.get<std::string>()};
    return blanks;
  }

  bool read_jump_ahead() {
    const OrderedJson value = given_.value("jump_ahead", OrderedJson());
    if (!value.is_null() && !value.is_boolean()) builder_.refuse("must be true or false", "structured_outputs.jump_ahead");
    return value != false;
  }

  /// The text of a member that is a string, within the limit.
  std::string text() {
    const OrderedJson& value = given_.at(std::string(name_of(kind_)));
    if (!value.is_string()) {
      builder_.refuse("must be a string");
      return {};
    }
    const std::string text = value.get<std::string>();
    if (text.size() > builder_.limits().max_text_bytes)
      builder_.refuse(fmt::format("has {} bytes; at most {} are allowed", text.size(), builder_.limits().max_text_bytes));
    return text;
  }

  NodeId append(JsonRules& json, NodeId from) {
    const OrderedJson& value = given_.at(std::string(name_of(kind_)));
    switch (kind_) {
      case ConstraintKind::json: return append_schema(json, from, value);
      case ConstraintKind::json_object:
        if (value != true) builder_.refuse("must be true");
        return builder_.append_rule(from, json.object());
      case ConstraintKind::regex: return append_regex(builder_, from, text(), Spelling::plain);
      case ConstraintKind::choice: return append_choice(from, value);
      case ConstraintKind::grammar: return append_ebnf(builder_, from, text());
      case ConstraintKind::structural_tag: {
        parsed_ = value.is_string() ? parsed(text()) : value;
        return builder_.failed() ? from : append_structural_tag(json, from, parsed_);
      }
    }
    return from;
  }

  OrderedJson parsed(const std::string& text) {
    auto json = parse_ordered_json(text, "");
    if (!json) builder_.refuse("is no JSON: " + json.error().message);
    return json ? std::move(*json) : OrderedJson();
  }

  /// A schema may come as the text of its JSON.
  NodeId append_schema(JsonRules& json, NodeId from, const OrderedJson& value) {
    parsed_ = value.is_string() ? parsed(text()) : value;
    if (builder_.failed()) return from;
    return builder_.append_rule(from, SchemaRules(json, parsed_).compile());
  }

  NodeId append_choice(NodeId from, const OrderedJson& list) {
    if (!list.is_array() || list.empty()) {
      builder_.refuse("must be a list of strings that is not empty");
      return from;
    }
    const NodeId end = builder_.add_node();
    for (std::size_t i = 0; i < list.size() && !builder_.failed(); ++i) {
      if (!list[i].is_string()) builder_.refuse("must be a string", fmt::format("[{}]", i));
      else builder_.add_empty(append_text(builder_, from, list[i].get<std::string>(), Spelling::plain), end);
    }
    return end;
  }

  const OrderedJson& given_;
  GrammarBuilder builder_;
  ConstraintKind kind_ = ConstraintKind::json;
  OrderedJson parsed_;
};

}  // namespace

std::string_view name_of(ConstraintKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

Result<Constraint> compile_constraint(std::string_view text, const GrammarLimits& limits) {
  if (text.size() > limits.max_text_bytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("has {} bytes; at most {} are allowed", text.size(), limits.max_text_bytes),
                "structured_outputs");
  }
  auto given = parse_ordered_json(text, "structured_outputs");
  if (!given) return tl::unexpected(std::move(given.error()));
  if (!given->is_object()) {
    return fail(ErrorCode::invalid_argument,
                "must be a JSON object with one of json, json_object, regex, choice, grammar and "
                "structural_tag",
                "structured_outputs");
  }
  return ConstraintReader(*given, limits).read();
}

}  // namespace lathe::engine::grammar
