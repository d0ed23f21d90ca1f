// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/unique_keys.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/api/python_json.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

/// Writes a value again, with each key once. Every function returns false if the text is not JSON.
class UniqueKeys {
 public:
  explicit UniqueKeys(std::string_view text) : rest_(trimmed(text)) {}

  bool whole(std::string& out) { return value(out, 0) && rest_.at_end(); }
  bool has_doubled() const { return has_doubled_; }

 private:
  bool next(std::string_view token) {
    rest_.skip_blanks();
    return rest_.skip(token);
  }

  bool value(std::string& out, int depth) {
    if (next("{")) return depth < JsonLimits().max_depth && object(out, depth);
    if (next("[")) return depth < JsonLimits().max_depth && list(out, depth);
    const std::string_view word = rest_.take(json_value_size(rest_.rest()));
    out += word;
    return value_of_written_json(word).has_value();
  }

  bool list(std::string& out, int depth) {
    out += '[';
    for (bool first = true; !next("]"); first = false) {
      if (!first && !next(",")) return false;
      out += first ? "" : ", ";
      if (!value(out, depth + 1)) return false;
    }
    out += ']';
    return true;
  }

  bool object(std::string& out, int depth) {
    std::vector<std::pair<std::string_view, std::string>> members;
    std::unordered_map<std::string, std::size_t> places;
    while (!next("}")) {
      if (!members.empty() && !next(",")) return false;
      rest_.skip_blanks();
      const std::string_view key = rest_.take(json_value_size(rest_.rest()));
      const auto name = parse_json(key, "");
      if (!name || !name->is_string() || !next(":")) return false;
      const auto [place, is_new] = places.emplace(name->get_ref<const std::string&>(), members.size());
      has_doubled_ = has_doubled_ || !is_new;
      if (is_new) members.emplace_back(key, std::string());
      std::string& member = members[place->second].second;
      member.clear();
      if (!value(member, depth + 1)) return false;
    }
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i)
      ((out += i == 0 ? "" : ", ") += members[i].first).append(": ").append(members[i].second);
    out += '}';
    return true;
  }

  Markup rest_;
  bool has_doubled_ = false;
};

}  // namespace

std::optional<std::string> json_with_unique_keys(std::string_view text) {
  if (parse_json(text, "")) return std::string(text);
  std::string out;
  UniqueKeys keys(text);
  if (!keys.whole(out)) return std::nullopt;
  if (!keys.has_doubled()) out = text;
  if (!value_of_written_json(out)) return std::nullopt;
  return out;
}

std::optional<Json> value_of_written_json(std::string_view text) {
  if (auto strict = parse_json(text, "")) return std::move(*strict);
  const bool is_word = text.starts_with('N') || text.starts_with('I') || text.starts_with("-I");
  auto read = parse_python_json(text, "");
  if (!read || is_word || text.starts_with('\xEF')) return std::nullopt;  // the other reader skips a byte order mark
  return std::move(*read);
}

}  // namespace lathe::engine
