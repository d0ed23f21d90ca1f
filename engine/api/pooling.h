// SPDX-License-Identifier: Apache-2.0
// Pooling: how a text's hidden states become one vector, and what a request may ask of that vector.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::engine {

/// Source: Reimers and Gurevych 2019, section 3.
enum class Pooling : std::uint8_t {
  mean,
  cls,  ///< hidden state of the first token
  last  ///< hidden state of the last token
};
std::string_view name_of(Pooling pooling);  ///< "mean", "cls", "last"

/// Vectors that a model gives.
struct VectorInfo {
  std::int64_t n_dimensions = 0;
  Pooling pooling = Pooling::last;
  bool normalises = true;  ///< vectors have length 1
  /// The leading dimensions of a vector are a vector too (Kusupati et al. 2022), as config.json declares.
  bool is_matryoshka = false;
  std::vector<std::int64_t> matryoshka_dimensions{};  ///< the only lengths of such a vector; empty: any
};

/// The vector that a request asks for.
struct PoolingParams {
  std::int64_t dimensions = 0;                    ///< leading dimensions that are kept; 0: all
  std::optional<bool> normalises = std::nullopt;  ///< none: as the model does
};

/// Checks a request against the model's vectors. Errors: invalid_argument at "dimensions", with the numbers.
Result<void> validate(const PoolingParams& params, const VectorInfo& info);

/// Cuts a pooled state to the requested dimensions, then divides it by its length if asked to.
void finish_vector(const PoolingParams& params, const VectorInfo& info, std::vector<float>& vector);

}  // namespace lathe::engine
