// SPDX-License-Identifier: Apache-2.0
// JsonRules: the rules of JSON itself, and the blanks between its parts.
#pragma once

#include <cstdint>
#include <string>

#include "engine/api/json.h"
#include "engine/sample/grammar/grammar_builder.h"

namespace lathe::engine::grammar {

/// Blanks between the parts of a JSON text.
struct Blanks {
  enum class Kind : std::uint8_t {
    flexible,  ///< behind brackets, commas and colons: up to two spaces, a line break, up to two spaces
    fixed,     ///< one space behind commas and colons, as Python's json.dumps writes it
    none,
    pattern  ///< what a regular expression matches, in the places of `flexible`
  };
  Kind kind = Kind::flexible;
  std::string pattern{};
};

/// Digits of the numbers that have no bounds: their integer part, their fraction; such a number is finite as a double.
inline constexpr std::int32_t kIntegerDigits = 18, kFractionDigits = 16;

class JsonRules {
 public:
  JsonRules(GrammarBuilder& builder, Blanks blanks);

  GrammarBuilder& builder() const { return *builder_; }

  // ---- rules, made when they are first asked for
  RuleId value();
  RuleId object();
  RuleId array();
  RuleId string();
  RuleId integer();
  RuleId number();
  RuleId literal(const std::string& text);  ///< true, false, null
  /// A new rule of one character of a string, in any spelling: the body of a counted rule must be that rule's alone.
  RuleId make_character();

  // ---- parts of objects and arrays; each returns the node behind it
  NodeId append_open(NodeId from, char bracket);
  NodeId append_close(NodeId from, char bracket);
  NodeId append_comma(NodeId from);
  NodeId append_colon(NodeId from);
  /// Appends a value of an enum; its strings and names have one spelling each.
  NodeId append_constant(NodeId from, const OrderedJson& value);

 private:
  NodeId append_blanks(NodeId from);
  NodeId append_separator(NodeId from, char separator);
  void fill_characters(NodeId from, NodeId to);
  RuleId made(RuleId& rule, void (JsonRules::*fill)(RuleId));
  void fill_value(RuleId rule);
  void fill_object(RuleId rule);
  void fill_array(RuleId rule);
  void fill_string(RuleId rule);
  void fill_integer(RuleId rule);
  void fill_number(RuleId rule);
  NodeId append_integer(NodeId from);
  NodeId append_digits(NodeId from, std::int32_t most);

  GrammarBuilder* builder_;
  const Blanks blanks_;
  RuleId blank_rule_ = -1, value_ = -1, object_ = -1, array_ = -1, string_ = -1, integer_ = -1, number_ = -1;
};

}  // namespace lathe::engine::grammar
