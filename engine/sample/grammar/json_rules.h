// SPDX-License-Identifier: Apache-2.0
// JsonRules: the rules of JSON itself, and the blanks between its parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/api/json.h"
#include "engine/sample/grammar/character_spelling.h"
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

/// Characters of names that need no quotes in a style of bare names.
inline constexpr std::string_view kPlainNameCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

/// How strings and names are written.
struct JsonStyle {
  enum class Strings : std::uint8_t {
    escaped,       ///< as JSON has them
    escaped_once,  ///< as JSON has them, in one spelling that Python's literals have too
    plain          ///< characters as they are, up to `close`
  };
  Strings strings = Strings::escaped;
  std::string open = "\"", close = "\"";  ///< around a string; perhaps bytes of bytes_of_token()
  bool bare_names = false;                ///< names of plain characters have no quotes
  bool only_strings = false;              ///< other values of a schema have no spelling

  /// `close` is a token, which no text can spell.
  bool closes_by_token() const { return close.find('\xFF') != std::string::npos; }
};

/// Digits of the numbers that have no bounds: their integer part, their fraction; such a number is finite as a double.
inline constexpr std::int32_t kIntegerDigits = 18, kFractionDigits = 16;

class JsonRules {
 public:
  explicit JsonRules(GrammarBuilder& builder, Blanks blanks, JsonStyle style = {});

  GrammarBuilder& builder() const { return *builder_; }
  const JsonStyle& style() const { return style_; }
  const Blanks& blanks() const { return blanks_; }
  /// How characters of patterns, constants and names are written.
  Spelling spelling() const { return style_.strings == JsonStyle::Strings::plain ? Spelling::plain : Spelling::json; }

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
  /// A new rule of one or two characters, for strings without an upper bound: two where the first might begin `close`.
  RuleId make_some_characters();
  /// Appends any characters and the end of the string.
  NodeId append_rest_of_string(NodeId from);

  // ---- parts of objects and arrays; each returns the node behind it
  NodeId append_open(NodeId from, char bracket);
  NodeId append_close(NodeId from, char bracket);
  NodeId append_comma(NodeId from);
  NodeId append_colon(NodeId from);
  /// Appends a name without blanks around it.
  NodeId append_name(NodeId from, const std::string& name);
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
  const JsonStyle style_;
  RuleId blank_rule_ = -1, value_ = -1, object_ = -1, array_ = -1, string_ = -1, integer_ = -1, number_ = -1;
};

}  // namespace lathe::engine::grammar
