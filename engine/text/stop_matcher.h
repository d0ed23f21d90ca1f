// SPDX-License-Identifier: Apache-2.0
// StopMatcher: finds stop strings in a text that arrives in pieces, and holds back text that may become one.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace lathe::engine {

/// The stop string that ends first counts; of several that end together, the longest. So the cut does not depend on how the
/// text is divided into pieces. Requires: the stop strings outlive the matcher.
class StopMatcher {
 public:
  StopMatcher() = default;
  StopMatcher(std::span<const std::string> stop, bool include_stop) : stop_(stop), include_stop_(include_stop) {}

  /// Appends to `out` the text that can no longer be part of a stop string. Returns the index of the stop string that
  /// matched, or -1; the text after a match is lost.
  int push(std::string_view text, std::string& out) {
    held_ += text;
    const int matched = cut_at_stop();
    const std::size_t n_sure = held_.size() - (matched >= 0 ? 0 : n_undecided());
    out.append(held_, 0, n_sure);
    held_.erase(0, n_sure);
    return matched;
  }
  /// Appends the held text to `out`: it is not part of any match.
  void release(std::string& out) {
    out += held_;
    held_.clear();
  }
  bool empty() const { return stop_.empty(); }
  std::string_view held() const { return held_; }

 private:
  /// Cuts held_ at the stop string that ends first and returns its index, or -1.
  int cut_at_stop() {
    int matched = -1;
    std::size_t match_begin = 0, match_end = 0;
    for (std::size_t i = 0; i < stop_.size(); ++i) {
      const std::size_t begin = held_.find(stop_[i]);
      if (begin == std::string::npos) continue;
      const std::size_t end = begin + stop_[i].size();
      if (matched >= 0 && (end > match_end || (end == match_end && begin >= match_begin))) continue;
      matched = static_cast<int>(i);
      match_begin = begin;
      match_end = end;
    }
    if (matched >= 0) held_.resize(include_stop_ ? match_end : match_begin);
    return matched;
  }

  /// Returns the number of bytes at the end of held_ that are the beginning of a stop string.
  std::size_t n_undecided() const {
    std::size_t longest = 0;
    for (const std::string& stop : stop_) {
      for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n) {
        if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) longest = n;
      }
    }
    return longest;
  }

  std::span<const std::string> stop_;
  bool include_stop_ = false;
  std::string held_;  ///< text that may begin a stop string
};

}  // namespace lathe::engine
