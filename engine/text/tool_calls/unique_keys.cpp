// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/unique_keys.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/api/json.h"
#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

/// Writes a value again, with each key once. Every function returns false if the text is not JSON.
class UniqueKeys {
 public:
  explicit UniqueKeys(std::string_view text) : rest_(trimmed(text)) {}

  bool whole(std::string& out) { return value(out, 0) && rest_.at_end(); }

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
    return parse_json(word, "").has_value();
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
};

}  // namespace

std::optional<std::string> json_with_unique_keys(std::string_view text) {
  if (parse_json(text, "")) return std::string(text);
  std::string out;
  UniqueKeys keys(text);
  if (!keys.whole(out) || !parse_json(out, "")) return std::nullopt;
  return out;
}

}  // namespace lathe::engine
