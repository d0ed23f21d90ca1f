// SPDX-License-Identifier: Apache-2.0
// LayerFormats: what the matrices of a layer are stored as, where files hold some in other codes than others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/api/backend.h"
#include "kernels/api/coded_rows.h"

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

/// What a matrix is kept in.
struct MatrixForm {
  /// ordered: of formats that cannot be (kernels::rounds_whole_rows) it says nothing.
  MatrixForm(kernels::WeightFormat stored, bool ordered = false)  // NOLINT(google-explicit-constructor): most are no more
      : format(stored), is_ordered(ordered && !kernels::rounds_whole_rows(stored)) {}
  kernels::WeightFormat format;
  bool is_ordered;  ///< beside it lies an order of its inputs
  bool operator==(const MatrixForm&) const = default;
};

struct LayerFormats {
  std::array<MatrixForm, kMatrixParts> formats;
  LayerFormats(const MatrixForm& matrices, const MatrixForm& experts)
      : formats{matrices, matrices, matrices, matrices, experts, experts} {}
  const MatrixForm& of(MatrixPart part) const { return formats[static_cast<std::size_t>(part)]; }
};

/// What a layer's codes are without rounding. Nothing: there are numbers, or codes of several formats.
using StoredLayer = std::array<std::optional<kernels::WeightFormat>, kMatrixParts>;

}  // namespace lathe::engine
