// SPDX-License-Identifier: Apache-2.0
// MarkerProgress: how much of a marker the last bytes of a text are.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/text/tool_calls/marker_tokens.h"

namespace lathe::engine {

class MarkerProgress {
 public:
  /// Whether the byte completes the marker, which is the same until reset(). One that is a token is not found in a text.
  /// Requires: the marker's first character occurs in it once.
  bool push(char byte, std::string_view marker, const MarkerTokens& tokens) {
    if (marker.empty() || tokens.is_token(marker)) return false;
    n_ = byte == marker[n_] ? n_ + 1 : byte == marker.front() ? 1 : 0;
    if (n_ < marker.size()) return false;
    n_ = 0;
    return true;
  }
  void reset() { n_ = 0; }

 private:
  std::size_t n_ = 0;  ///< bytes of the marker
};

}  // namespace lathe::engine
