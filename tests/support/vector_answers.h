// SPDX-License-Identifier: Apache-2.0
// Reads vectors of answers in OpenAI's form.
#pragma once

#include <vector>

#include "engine/api/json.h"

namespace lathe::tests {

/// The floats of a list of numbers.
inline std::vector<float> floats(const engine::Json& list) {
  std::vector<float> vector;
  for (const engine::Json& number : list) vector.push_back(static_cast<float>(number.get<double>()));
  return vector;
}

/// The i-th vector of an answer, as numbers.
inline std::vector<float> vector_at(const engine::Json& answer, std::size_t i) {
  return floats(answer["data"][i]["embedding"]);
}

}  // namespace lathe::tests
