// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/json_calls.h"

#include <algorithm>
#include <array>

#include "engine/text/tool_calls/markup.h"
#include "engine/text/tool_calls/unique_keys.h"

namespace lathe::engine {
namespace {

/// Returns the index after the closing quote of the string that begins at `at`.
std::size_t string_end(std::string_view text, std::size_t at) {
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\') ++at;
    else if (text[at] == '"') return at + 1;
  }
  return text.size();
}

struct JsonExtent {
  std::size_t size = 0;
  bool is_closed = false;  ///< a value that a bracket opens has the bracket that closes it
};

/// The extent of the value at the beginning, see json_value_size().
JsonExtent json_extent(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      if (depth == 0) return {at, true};
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == '}' || c == ']' || is_blank(c))) return {at, at > 0};
    ++at;
    if ((c == '}' || c == ']') && --depth == 0) return {at, true};
  }
  return {text.size(), depth == 0 && !text.empty()};
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

/// Returns the arguments of a JSON call: an object, a string that holds one, or null.
std::optional<std::string> arguments_of(const Json& value, std::string_view text) {
  if (value.is_null()) return "{}";
  // An empty `text` means that the member's name has escapes.
  if (value.is_object()) return text.empty() ? dump_json(value) : std::string(text);
  return value.is_string() ? arguments_of_json(value.get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

std::size_t json_value_size(std::string_view text) { return json_extent(text).size; }

std::optional<std::string> arguments_of_json(std::string_view text) {
  text = trimmed(text);
  return text.starts_with("{") ? json_with_unique_keys(text) : std::nullopt;
}

namespace {

std::optional<ToolCall> call_of_json(std::string_view written, bool needs_arguments) {
  const auto unique = json_with_unique_keys(trimmed(written));
  if (!unique) return std::nullopt;
  const auto parsed = parse_json(*unique, "");
  if (!parsed || !parsed->is_object()) return std::nullopt;
  const std::string_view object = *unique;
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

/// Whether the value at the front, which the end of the text cuts off, may become a call.
using MayBecomeCall = bool (*)(std::string_view value, const ArgumentTypes& types);

bool may_always(std::string_view, const ArgumentTypes&) { return true; }

/// Returns whether the keys so far are those of calls, and the name may be the name of a tool.
bool has_keys_of_call(std::string_view value, const ArgumentTypes& types) {
  constexpr std::array<std::string_view, 6> kKeys = {"\"name\"",     "\"arguments\"", "\"parameters\"",
                                                     "\"function\"", "\"type\"",      "\"id\""};
  if (value.starts_with("[")) value.remove_prefix(1);
  Markup rest(trimmed(value));
  if (!rest.skip("{")) return rest.at_end();
  for (rest.skip_blanks(); !rest.at_end(); rest.skip_blanks()) {
    const std::string_view key = rest.take(string_end(rest.rest(), 0));
    const bool is_known = std::any_of(kKeys.begin(), kKeys.end(), [&](std::string_view known) {
      return rest.at_end() ? known.starts_with(key) : known == key;
    });
    if (!is_known) return false;
    if (!rest.until(":")) return true;
    rest.skip_blanks();
    const std::string_view member = rest.take(json_value_size(rest.rest()));
    const bool is_name = key == "\"name\"" && member.size() > 1;
    const std::string_view name = is_name ? member.substr(1, member.size() - (member.back() == '"' ? 2 : 1)) : "";
    if (!types.may_name_tool(name)) return false;
    rest.skip_blanks();
    rest.skip(",");
  }
  return true;
}

/// Reads the values of a block one by one.
class JsonCalls {
 public:
  JsonCalls(const BlockText& block, const ArgumentTypes& types, bool need_arguments, MayBecomeCall may_become)
      : block_(block), types_(types), need_arguments_(need_arguments), may_become_(may_become) {}

  std::optional<std::vector<ToolCall>> all() {
    Markup rest(trimmed(block_.text));
    for (; !rest.at_end(); rest.skip_blanks()) {
      if (rest.skip(";")) continue;
      if (rest.rest().starts_with("[") ? !add_list(rest) : !add_object(rest)) return std::nullopt;
    }
    if (calls_.empty() && !(block_.is_open && (is_half_ || trimmed(block_.text).empty()))) return std::nullopt;
    return std::move(calls_);
  }

 private:
  /// Reads the call at the front. Returns false if the value is not a call and cannot become one.
  bool add_object(Markup& rest) {
    const JsonExtent extent = json_extent(rest.rest());
    const std::string_view value = rest.take(extent.size);
    if (block_.is_open && rest.at_end() && !extent.is_closed) {
      is_half_ = may_become_(value, types_);
      return is_half_;
    }
    auto call = value.empty() ? std::nullopt : call_of_json(value, need_arguments_);
    if (call) calls_.push_back(std::move(*call));
    return call.has_value();
  }

  bool add_list(Markup& rest) {
    const JsonExtent extent = json_extent(rest.rest());
    const std::string_view list = rest.take(extent.size);
    const bool is_half = block_.is_open && rest.at_end() && !extent.is_closed;
    if (!is_half && !json_with_unique_keys(list)) return false;
    Markup items(trimmed(is_half ? list.substr(1) : list.substr(1, list.size() - 2)));
    while (!items.at_end()) {
      if (!add_object(items)) return false;
      items.skip_blanks();
      items.skip(",");
      items.skip_blanks();
    }
    is_half_ = is_half_ || is_half;
    return true;
  }

  const BlockText& block_;
  const ArgumentTypes& types_;
  const bool need_arguments_;
  const MayBecomeCall may_become_;
  bool is_half_ = false;  ///< the block ends with an incomplete call
  std::vector<ToolCall> calls_;
};

}  // namespace

std::optional<std::vector<ToolCall>> calls_of_json(const BlockText& block, const ArgumentTypes& types) {
  return JsonCalls(block, types, false, may_always).all();
}
std::optional<std::vector<ToolCall>> bare_calls_of_json(const BlockText& block, const ArgumentTypes& types) {
  return JsonCalls(block, types, true, has_keys_of_call).all();
}

}  // namespace lathe::engine
