// SPDX-License-Identifier: Apache-2.0
// Markup: a reader that walks through a text from marker to marker.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>

#include "engine/text/tool_calls/marker_tokens.h"

namespace lathe::engine {

inline bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// A marker token in a text: its index and size in bytes.
struct TokenSpan {
  std::size_t at = 0, size = 0;
};

/// The text of a block of calls, without the markers around it.
struct BlockText {
  std::string_view text;
  std::span<const TokenSpan> tokens{};  ///< ascending
  const MarkerTokens* markers = nullptr;
  bool is_open = false;  ///< the answer ended inside the block
};

class Markup {
 public:
  explicit Markup(std::string_view text) : rest_(text), size_(text.size()) {}
  explicit Markup(const BlockText& block)
      : rest_(block.text), size_(block.text.size()), tokens_(block.tokens), markers_(block.markers) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  void skip_blanks() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
  }
  /// Skips the marker if the text continues with it, and returns whether it does.
  bool skip(std::string_view marker) {
    if (!rest_.starts_with(marker) || find(marker) != 0) return false;
    rest_.remove_prefix(marker.size());
    return true;
  }
  /// Returns the text before the next such marker, and skips both. Returns nothing, and skips nothing, if the marker does
  /// not occur.
  std::optional<std::string_view> until(std::string_view marker) {
    const std::size_t at = find(marker);
    if (at == rest_.npos) return std::nullopt;
    const std::string_view before = rest_.substr(0, at);
    rest_.remove_prefix(at + marker.size());
    return before;
  }
  /// Returns the next `size` bytes and skips them. Requires: the rest has at least `size` bytes.
  std::string_view take(std::size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

 private:
  /// Returns the index of the next such marker. A marker that is a token of the vocabulary is found only where that token
  /// is.
  std::size_t find(std::string_view marker) {
    if (markers_ == nullptr || !markers_->is_token(marker)) return rest_.find(marker);
    const std::size_t at = size_ - rest_.size();
    while (!tokens_.empty() && tokens_.front().at < at) tokens_ = tokens_.subspan(1);
    for (const TokenSpan& token : tokens_) {
      const std::string_view found = rest_.substr(token.at - at);
      if (token.size == marker.size() && found.starts_with(marker)) return token.at - at;
    }
    return rest_.npos;
  }

  std::string_view rest_;
  std::size_t size_;
  std::span<const TokenSpan> tokens_{};
  const MarkerTokens* markers_ = nullptr;
};

}  // namespace lathe::engine
