// SPDX-License-Identifier: Apache-2.0
// AnswerMarker: a marker of tool calls or reasoning that is a token of the model's vocabulary.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::engine {

struct AnswerMarker {
  std::int32_t id = 0;
  std::string text;  ///< the token's text: the marker, or its beginning if only that is a control token
  bool of_calls = false, of_reasoning = false;
};

}  // namespace lathe::engine
