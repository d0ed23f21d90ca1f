// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/json_calls.h"

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

/// Behind the closing quote of the string that begins at `at`.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '"') return at + 1;
  }
  return text.size();
}

/// The text of a member's value in an object that is valid JSON; empty where it has no such member.
std::string_view member_text(std::string_view object, std::string_view quoted_name) {
  Markup rest(object.substr(1, object.size() - 2));
  for (rest.skip_blanks(); !rest.at_end(); rest.skip_blanks()) {
    const std::string_view name = rest.take(string_end(rest.rest(), 0));
    rest.until(":");
    rest.skip_blanks();
    const std::string_view value = rest.take(json_value_size(rest.rest()));
    if (name == quoted_name) return value;
    if (!rest.until(",")) break;
  }
  return {};
}

/// What JSON calls arguments: an object, a string that holds one, or nothing at all.
std::optional<std::string> arguments_of(const Json& value, std::string_view text) {
  if (value.is_null()) return "{}";
  if (value.is_object()) return text.empty() ? dump_json(value) : std::string(text);  // empty: its name has escapes
  return value.is_string() ? arguments_of_json(value.get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

std::size_t json_value_size(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c))) return at;
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return text.size();
}

std::optional<std::string> arguments_of_json(std::string_view text) {
  text = trimmed(text);
  const auto parsed = parse_json(text, "");
  if (!parsed || !parsed->is_object()) return std::nullopt;
  return std::string(text);
}

namespace {

std::optional<ToolCall> call_of_json(std::string_view object, bool needs_arguments) {
  object = trimmed(object);
  const auto parsed = parse_json(object, "");
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const auto name = parsed->find("name");
  if (name == parsed->end()) {
    const auto function = parsed->find("function");
    const bool wraps = function != parsed->end() && function->is_object() && function->contains("name");
    return wraps ? call_of_json(member_text(object, "\"function\""), needs_arguments) : std::nullopt;
  }
  if (!name->is_string() || name->get_ref<const std::string&>().empty()) return std::nullopt;
  ToolCall call{name->get<std::string>(), "{}", {}};
  for (const std::string_view key : {"\"arguments\"", "\"parameters\""}) {
    const auto value = parsed->find(key.substr(1, key.size() - 2));
    if (value == parsed->end()) continue;
    auto arguments = arguments_of(*value, member_text(object, key));
    if (!arguments) return std::nullopt;
    call.arguments = std::move(*arguments);
    return call;
  }
  return needs_arguments ? std::nullopt : std::optional(std::move(call));
}

std::optional<std::vector<ToolCall>> all_calls(std::string_view text, bool need_arguments) {
  std::vector<ToolCall> calls;
  const auto add = [&](std::string_view object) {
    auto call = call_of_json(object, need_arguments);
    if (call) calls.push_back(std::move(*call));
    return call.has_value();
  };
  Markup rest(trimmed(text));
  for (; !rest.at_end(); rest.skip_blanks()) {
    if (rest.skip(";")) continue;
    const std::string_view value = rest.take(json_value_size(rest.rest()));
    if (!value.starts_with("[")) {
      if (value.empty() || !add(value)) return std::nullopt;
      continue;
    }
    if (!parse_json(value, "")) return std::nullopt;
    Markup items(trimmed(value.substr(1, value.size() - 2)));
    while (!items.at_end()) {
      if (!add(items.take(json_value_size(items.rest())))) return std::nullopt;
      items.skip_blanks();
      items.skip(",");
      items.skip_blanks();
    }
  }
  if (calls.empty()) return std::nullopt;
  return calls;
}

}  // namespace

std::optional<std::vector<ToolCall>> calls_of_json(std::string_view text, const ArgumentTypes&) {
  return all_calls(text, false);
}
std::optional<std::vector<ToolCall>> bare_calls_of_json(std::string_view text, const ArgumentTypes&) {
  return all_calls(text, true);
}

}  // namespace lathe::engine
