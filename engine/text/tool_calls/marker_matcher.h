// SPDX-License-Identifier: Apache-2.0
// Finds markers in a text that comes byte by byte, and holds back what may yet become one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lathe::engine {

class MarkerMatcher {
 public:
  /// Empty markers are left out. A marker's first character must not occur again in any of them.
  explicit MarkerMatcher(std::span<const std::string_view> markers) {
    for (const std::string_view marker : markers) {
      if (marker.empty()) continue;
      markers_.push_back(marker);
      firsts_ += marker.front();
    }
  }

  /// The marker that this byte completes; empty otherwise. Bytes that belong to none are appended to `plain`.
  std::string_view push(char byte, std::string& plain) {
    if (held_.empty() && firsts_.find(byte) == firsts_.npos) {
      plain += byte;
      return {};
    }
    held_ += byte;
    while (!held_.empty()) {
      bool may_become = false;
      for (const std::string_view marker : markers_) {
        if (!marker.starts_with(held_)) continue;
        if (marker.size() == held_.size()) {
          held_.clear();
          return marker;
        }
        may_become = true;
      }
      if (may_become) break;
      plain += held_.front();
      held_.erase(0, 1);
    }
    return {};
  }
  /// Gives up what is held back.
  std::string release() { return std::exchange(held_, {}); }

 private:
  std::vector<std::string_view> markers_;
  std::string firsts_;  ///< of each marker
  std::string held_;
};

}  // namespace lathe::engine
