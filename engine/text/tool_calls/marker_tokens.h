// SPDX-License-Identifier: Apache-2.0
// MarkerTokens: tells which markers of an answer are tokens of the vocabulary, and which are found in its text.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/api/answer_markers.h"

namespace lathe::engine {

class MarkerTokens {
 public:
  MarkerTokens() = default;
  explicit MarkerTokens(std::vector<AnswerMarker> markers) : markers_(std::move(markers)) {}

  /// Returns the text of a marker token; empty if the token is not a marker.
  std::string_view text_of(std::int32_t id) const {
    for (const AnswerMarker& marker : markers_) {
      if (marker.id == id) return marker.text;
    }
    return {};
  }
  /// Returns how many bytes at the front of a marker must arrive as one token: all of them if the marker is a token, fewer
  /// if only its beginning is one, 0 if the marker is found in the text.
  std::size_t head_of(std::string_view marker) const {
    std::size_t size = 0;
    for (const AnswerMarker& token : markers_) {
      if (marker.starts_with(token.text)) size = std::max(size, token.text.size());
    }
    return size;
  }
  bool is_token(std::string_view marker) const { return !marker.empty() && head_of(marker) == marker.size(); }

 private:
  std::vector<AnswerMarker> markers_;
};

}  // namespace lathe::engine
