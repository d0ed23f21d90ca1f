// SPDX-License-Identifier: Apache-2.0
// AnswerMarker: a marker of an answer's formats that is a token of the model's vocabulary.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::engine {

struct AnswerMarker {
  std::int32_t id = 0;
  std::string text;  ///< the marker; or what it begins with, where that alone is a control token
  bool of_calls = false, of_reasoning = false;
};

}  // namespace lathe::engine
