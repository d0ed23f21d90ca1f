// SPDX-License-Identifier: Apache-2.0
// WeightStorage: in which formats a decoder keeps its weights, and the names under which users ask for them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/api/backend.h"

namespace lathe::engine {

struct WeightStorage {
  /// Nothing quantized. Requires: a floating type.
  WeightStorage(kernels::Dtype floating);  // NOLINT(google-explicit-constructor): a type is a way to store weights

  kernels::Dtype dtype;            ///< of the embeddings; norms and biases are f32
  kernels::WeightFormat matrices;  ///< of the layers and the head
};

/// A value of the option `quantization`.
struct Quantization {
  std::string_view name;
  kernels::WeightFormat matrices;
};

/// THE TABLE of quantizations, without "none".
std::span<const Quantization> quantizations();
/// Null: "none", or a name that is in no row.
const Quantization* find_quantization(std::string_view name);

}  // namespace lathe::engine
