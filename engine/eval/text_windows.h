// SPDX-License-Identifier: Apache-2.0
// Windows over the tokens of a text: which tokens the model reads together, and which of them are predicted.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/api/evaluate.h"

namespace lathe::engine {

/// Tokens [begin, end) of a text; those from `predicted` on are predicted, each from all tokens before it in the window.
struct TextWindow {
  std::int64_t begin = 0, end = 0, predicted = 0;
  bool begins_with_bos = false;  ///< BOS replaces the first token
  std::int64_t n_predicted() const { return end - predicted; }
};

/// Requires: window >= 2, 1 <= stride < window.
std::vector<TextWindow> windows_of(EvalProtocol protocol, std::int64_t n_tokens, std::int64_t window, std::int64_t stride);

}  // namespace lathe::engine
