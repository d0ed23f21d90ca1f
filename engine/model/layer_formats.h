// SPDX-License-Identifier: Apache-2.0
// LayerFormats: what the matrices of a layer are stored as, where files hold some in other codes than others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/api/backend.h"

namespace lathe::engine {

/// Matrices of a layer that have one format, because they lie in one, or read the same rounded activations.
enum class MatrixPart : std::uint8_t {
  attention_in,  ///< Q, K and V; all of latent attention
  attention_out,
  mlp_in,  ///< gate and up
  mlp_out,
  expert_in,  ///< of all experts of the layer, and of the one that every row has
  expert_out
};
inline constexpr std::size_t kMatrixParts = 6;

inline bool is_of_experts(MatrixPart part) { return part == MatrixPart::expert_in || part == MatrixPart::expert_out; }

struct LayerFormats {
  std::array<kernels::WeightFormat, kMatrixParts> formats{};
  LayerFormats(kernels::WeightFormat matrices, kernels::WeightFormat experts)
      : formats{matrices, matrices, matrices, matrices, experts, experts} {}
  kernels::WeightFormat of(MatrixPart part) const { return formats[static_cast<std::size_t>(part)]; }
  kernels::WeightFormat& of(MatrixPart part) { return formats[static_cast<std::size_t>(part)]; }
};

/// What a layer's codes are without rounding. Nothing: there are numbers, or codes of several formats.
using StoredLayer = std::array<std::optional<kernels::WeightFormat>, kMatrixParts>;

}  // namespace lathe::engine
