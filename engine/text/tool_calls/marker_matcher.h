// SPDX-License-Identifier: Apache-2.0
// MarkerMatcher: finds markers in an answer that arrives byte by byte and token by token, and holds back bytes that may
// become a marker.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/text/tool_calls/marker_tokens.h"

namespace lathe::engine {

class MarkerMatcher {
 public:
  MarkerMatcher() = default;
  /// Empty markers are ignored. Requires: the first character of a marker does not occur again after the front of any
  /// marker.
  MarkerMatcher(std::span<const std::string_view> markers, const MarkerTokens& tokens) {
    for (const std::string_view marker : markers) {
      if (marker.empty()) continue;
      markers_.push_back({marker, tokens.head_of(marker)});
      if (markers_.back().head == 0) firsts_ += marker.front();
    }
  }

  /// Returns the marker that this byte completes; empty if none. Bytes that belong to no marker are appended to `plain`.
  std::string_view push(char byte, std::string& plain) {
    if (held_.empty() && firsts_.find(byte) == firsts_.npos) {
      plain += byte;
      return {};
    }
    held_ += byte;
    while (!held_.empty()) {
      if (const std::string_view marker = whole_marker(); !marker.empty()) return marker;
      if (may_become_marker()) break;
      plain += held_.front();
      held_.erase(0, 1);
      head_ = 0;
    }
    return {};
  }
  /// Adds a token with this text; returns the marker that it completes, as push() does.
  std::string_view push_token(std::string_view text, std::string& plain) {
    plain += release();
    held_ = text;
    head_ = text.size();
    if (const std::string_view marker = whole_marker(); !marker.empty()) return marker;
    if (!may_become_marker()) plain += release();
    return {};
  }
  /// Returns the held bytes and forgets them.
  std::string release() {
    head_ = 0;
    return std::exchange(held_, {});
  }
  bool held_begins_with_token() const { return head_ > 0; }

 private:
  struct Entry {
    std::string_view text;
    std::size_t head = 0;  ///< bytes at the front of the marker that are one token
  };

  bool fits(const Entry& marker) const { return marker.head == head_ && marker.text.starts_with(held_); }
  std::string_view whole_marker() {
    for (const Entry& marker : markers_) {
      if (!fits(marker) || marker.text.size() != held_.size()) continue;
      release();
      return marker.text;
    }
    return {};
  }
  bool may_become_marker() const {
    for (const Entry& marker : markers_) {
      if (fits(marker)) return true;
    }
    return false;
  }

  std::vector<Entry> markers_;
  std::string firsts_;  ///< first characters of the markers that are found in the text
  std::string held_;
  std::size_t head_ = 0;  ///< bytes at the front of held_ that were a token
};

}  // namespace lathe::engine
