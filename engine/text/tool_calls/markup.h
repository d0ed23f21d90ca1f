// SPDX-License-Identifier: Apache-2.0
// Walks through a text by its markers.
#pragma once

#include <optional>
#include <string_view>

namespace lathe::engine {

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

class Markup {
 public:
  explicit Markup(std::string_view text) : rest_(text) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  /// Whether the text goes on with the marker, which is then passed.
  bool skip(std::string_view marker) {
    if (!rest_.starts_with(marker)) return false;
    rest_.remove_prefix(marker.size());
    return true;
  }
  /// What stands before the next such marker, which is passed as well. None: there is no such marker, and nothing is passed.
  std::optional<std::string_view> until(std::string_view marker) {
    const std::size_t at = rest_.find(marker);
    if (at == rest_.npos) return std::nullopt;
    const std::string_view before = rest_.substr(0, at);
    rest_.remove_prefix(at + marker.size());
    return before;
  }
  /// The next `size` bytes. Requires: there are as many.
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

 private:
  std::string_view rest_;
};

}  // namespace lathe::engine
