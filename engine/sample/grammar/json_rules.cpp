// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/json_rules.h"

#include "engine/sample/grammar/free_text.h"
#include "engine/sample/grammar/regex_rules.h"

namespace lathe::engine::grammar {
namespace {

const CodePointSet& all_characters() {
  static const CodePointSet set = CodePointSet{{kFirstSurrogate, kLastSurrogate}}.complement();
  return set;
}

}  // namespace

JsonRules::JsonRules(GrammarBuilder& builder, Blanks blanks, JsonStyle style)
    : builder_(&builder), blanks_(std::move(blanks)), style_(std::move(style)) {}

RuleId JsonRules::made(RuleId& rule, void (JsonRules::*fill)(RuleId)) {
  if (rule >= 0) return rule;
  rule = builder_->make_rule();  // known before it is filled: values contain values
  (this->*fill)(rule);
  return rule;
}

RuleId JsonRules::value() { return made(value_, &JsonRules::fill_value); }
RuleId JsonRules::object() { return made(object_, &JsonRules::fill_object); }
RuleId JsonRules::array() { return made(array_, &JsonRules::fill_array); }
RuleId JsonRules::string() { return made(string_, &JsonRules::fill_string); }
RuleId JsonRules::integer() { return made(integer_, &JsonRules::fill_integer); }
RuleId JsonRules::number() { return made(number_, &JsonRules::fill_number); }

RuleId JsonRules::literal(const std::string& text) {
  const RuleId rule = builder_->make_rule();
  builder_->add_empty(builder_->append(builder_->rule(rule).start, text), builder_->rule(rule).final);
  return rule;
}

// ---- blanks

NodeId JsonRules::append_blanks(NodeId from) {
  if (blanks_.kind == Blanks::Kind::pattern) {
    if (blank_rule_ < 0) {
      blank_rule_ = builder_->make_rule();
      const NodeId end = append_regex(*builder_, builder_->rule(blank_rule_).start, blanks_.pattern, Spelling::plain);
      builder_->add_empty(end, builder_->rule(blank_rule_).final);
    }
    return builder_->append_rule(from, blank_rule_);
  }
  if (blanks_.kind != Blanks::Kind::flexible) return from;
  const auto append_spaces = [&](NodeId at) {
    const NodeId end = builder_->add_node();
    const NodeId one = builder_->append(at, " "), two = builder_->append(one, " ");
    for (const NodeId node : {at, one, two}) builder_->add_empty(node, end);
    return end;
  };
  const NodeId before = append_spaces(from), end = append_spaces(builder_->append(before, "\n"));
  builder_->add_empty(before, end);
  return end;
}

NodeId JsonRules::append_open(NodeId from, char bracket) { return append_blanks(builder_->append(from, {&bracket, 1})); }

NodeId JsonRules::append_close(NodeId from, char bracket) { return builder_->append(append_blanks(from), {&bracket, 1}); }

NodeId JsonRules::append_separator(NodeId from, char separator) {
  from = builder_->append(from, {&separator, 1});
  return blanks_.kind == Blanks::Kind::fixed ? builder_->append(from, " ") : append_blanks(from);
}

NodeId JsonRules::append_comma(NodeId from) { return append_separator(from, ','); }
NodeId JsonRules::append_colon(NodeId from) { return append_separator(from, ':'); }

// ---- strings and numbers

void JsonRules::fill_characters(NodeId from, NodeId to) {
  if (style_.strings == JsonStyle::Strings::plain) {
    // A spelled end begins with "<", which a text of limited length then leaves out.
    const CodePointSet spelled = style_.closes_by_token() ? CodePointSet{} : CodePointSet{{'<', '<'}};
    return builder_->append_to(from, all_characters().without(spelled), to);
  }
  if (style_.strings == JsonStyle::Strings::escaped_once)
    return append_characters(*builder_, from, all_characters(), to, Spelling::json);
  builder_->append_to(from, json_plain_characters(), to);
  const NodeId escape = builder_->append(from, "\\");
  for (const char c : std::string_view("\"\\/bfnrt")) {
    const auto byte = static_cast<std::uint8_t>(c);
    builder_->add_bytes(escape, byte, byte, to);
  }
  const NodeId code = builder_->append(escape, "u");
  const CodePointSet digits{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}, d{{'D', 'D'}, {'d', 'd'}};
  const auto append_hex = [&](NodeId at, int n) {
    for (int i = 0; i < n; ++i) at = builder_->append(at, digits);
    return at;
  };
  builder_->add_empty(append_hex(builder_->append(code, digits.without(d)), 3), to);
  const NodeId behind_d = builder_->append(code, d);
  builder_->add_empty(append_hex(builder_->append(behind_d, {{'0', '7'}}), 2), to);
  // A code point above FFFF is two escapes.
  NodeId pair = append_hex(builder_->append(behind_d, {{'8', '9'}, {'A', 'B'}, {'a', 'b'}}), 2);
  pair = builder_->append(builder_->append(pair, "\\u"), d);
  builder_->add_empty(append_hex(builder_->append(pair, {{'C', 'F'}, {'c', 'f'}}), 2), to);
}

RuleId JsonRules::make_character() {
  const RuleId rule = builder_->make_rule();
  fill_characters(builder_->rule(rule).start, builder_->rule(rule).final);
  return rule;
}

RuleId JsonRules::make_some_characters() {
  const RuleId rule = make_character();
  if (style_.strings != JsonStyle::Strings::plain || style_.closes_by_token()) return rule;
  const CodePointSet others = all_characters().without({{'/', '/'}, {'<', '<'}});
  builder_->append_to(builder_->append(builder_->rule(rule).start, "<"), others, builder_->rule(rule).final);
  return rule;
}

NodeId JsonRules::append_rest_of_string(NodeId from) {
  if (style_.strings == JsonStyle::Strings::plain && !style_.closes_by_token()) {
    // The first end is the end, with the line break that belongs to it or not: then the text goes nowhere.
    const std::size_t mark = style_.close.find_first_not_of('\n');
    std::vector<std::string> ends = {style_.close};
    if (mark > 0) ends.push_back(style_.close.substr(mark));
    const FreeText text = add_free_text(*builder_, ends);
    if (builder_->failed()) return from;
    builder_->add_empty(from, text.start);
    return text.behind.front();
  }
  const NodeId loop = builder_->add_node();
  builder_->add_empty(from, loop);
  fill_characters(loop, loop);
  return builder_->append(loop, style_.close);
}

void JsonRules::fill_string(RuleId rule) {
  const NodeId inside = builder_->append(builder_->rule(rule).start, style_.open);
  builder_->add_empty(append_rest_of_string(inside), builder_->rule(rule).final);
}

NodeId JsonRules::append_digits(NodeId from, std::int32_t most) {
  const NodeId end = builder_->add_node();
  builder_->add_empty(from, end);
  for (std::int32_t i = 0; i < most; ++i) {
    from = builder_->append(from, CodePointSet{{'0', '9'}});
    builder_->add_empty(from, end);
  }
  return end;
}

NodeId JsonRules::append_integer(NodeId from) {
  const NodeId digits = builder_->append(from, "-");
  builder_->add_empty(from, digits);
  const NodeId end = append_digits(builder_->append(digits, {{'1', '9'}}), kIntegerDigits - 1);
  builder_->add_empty(builder_->append(digits, "0"), end);
  return end;
}

void JsonRules::fill_integer(RuleId rule) {
  builder_->add_empty(append_integer(builder_->rule(rule).start), builder_->rule(rule).final);
}

void JsonRules::fill_number(RuleId rule) {
  const CodePointSet digit{{'0', '9'}};
  const NodeId whole = append_integer(builder_->rule(rule).start), exponent = builder_->add_node();
  builder_->add_empty(whole, exponent);
  builder_->add_empty(append_digits(builder_->append(builder_->append(whole, "."), digit), kFractionDigits - 1), exponent);
  const NodeId e = builder_->append(exponent, {{'E', 'E'}, {'e', 'e'}}),
               sign = builder_->append(e, {{'+', '+'}, {'-', '-'}});
  builder_->add_empty(e, sign);
  builder_->add_empty(append_digits(builder_->append(sign, digit), 1), builder_->rule(rule).final);
  builder_->add_empty(exponent, builder_->rule(rule).final);
}

// ---- values

void JsonRules::fill_value(RuleId rule) {
  const NodeId start = builder_->rule(rule).start, final = builder_->rule(rule).final;
  for (const char* text : {"true", "false", "null"}) builder_->add_empty(builder_->append(start, text), final);
  for (const RuleId part : {string(), number(), object(), array()}) builder_->add_rule(start, part, final);
}

void JsonRules::fill_object(RuleId rule) {
  const NodeId open = append_open(builder_->rule(rule).start, '{');
  const NodeId name = builder_->add_node();
  builder_->add_empty(open, name);
  const NodeId end = builder_->append_rule(append_colon(builder_->append_rule(name, string())), value());
  builder_->add_empty(append_comma(end), name);
  builder_->add_empty(append_close(end, '}'), builder_->rule(rule).final);
  builder_->add_bytes(open, '}', '}', builder_->rule(rule).final);  // the blanks are those behind the first bracket
}

void JsonRules::fill_array(RuleId rule) {
  const NodeId open = append_open(builder_->rule(rule).start, '[');
  const NodeId item = builder_->add_node();
  builder_->add_empty(open, item);
  const NodeId end = builder_->append_rule(item, value());
  builder_->add_empty(append_comma(end), item);
  builder_->add_empty(append_close(end, ']'), builder_->rule(rule).final);
  builder_->add_bytes(open, ']', ']', builder_->rule(rule).final);
}

NodeId JsonRules::append_name(NodeId from, const std::string& name) {
  const bool is_plain = !name.empty() && name.find_first_not_of(kPlainNameCharacters) == name.npos;
  if (style_.bare_names && is_plain) return builder_->append(from, name);
  from = append_text(*builder_, builder_->append(from, style_.open), name, spelling());
  return builder_->append(from, style_.close);
}

NodeId JsonRules::append_constant(NodeId from, const OrderedJson& value) {
  const auto append_string = [&](NodeId at, const std::string& text) {
    at = append_text(*builder_, builder_->append(at, style_.open), text, spelling());
    return builder_->append(at, style_.close);
  };
  if (value.is_string()) return append_string(from, value.get<std::string>());
  if (!value.is_structured()) return builder_->append(from, dump_json(value));
  from = append_open(from, value.is_array() ? '[' : '{');
  if (value.empty()) return builder_->append(from, value.is_array() ? "]" : "}");
  bool is_first = true;
  for (const auto& [name, part] : value.items()) {
    if (!is_first) from = append_comma(from);
    is_first = false;
    if (value.is_object()) from = append_colon(append_name(from, name));
    from = append_constant(from, part);
  }
  return append_close(from, value.is_array() ? ']' : '}');
}

}  // namespace lathe::engine::grammar
