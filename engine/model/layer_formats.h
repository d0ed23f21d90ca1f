// SPDX-License-Identifier: Apache-2.0
// LayerFormats: the weight formats of a layer's matrices, where files store them in different codes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "kernels/api/backend.h"
#include "kernels/api/coded_rows.h"

namespace lathe::engine {

/// Matrices of a layer that share one weight format, because one packed matrix holds them or they read the same rounded
/// activations.
enum class MatrixPart : std::uint8_t {
  attention_in,  ///< Q, K and V; all projections of latent attention
  attention_out,
  mlp_in,  ///< gate and up
  mlp_out,
  expert_in,  ///< gate and up of all routed experts of the layer and of the shared one
  expert_out
};
inline constexpr std::size_t kMatrixParts = 6;

inline bool is_of_experts(MatrixPart part) { return part == MatrixPart::expert_in || part == MatrixPart::expert_out; }

/// The weight format of a matrix, and whether it has an input order.
struct MatrixForm {
  /// `ordered` is ignored for formats that cannot be reordered (kernels::rounds_whole_rows).
  MatrixForm(kernels::WeightFormat stored, bool ordered = false)  // NOLINT(google-explicit-constructor): a format suffices
      : format(stored), is_ordered(ordered && !kernels::rounds_whole_rows(stored)) {}
  kernels::WeightFormat format;
  bool is_ordered;  ///< an input order is stored with the matrix
  bool operator==(const MatrixForm&) const = default;
};

struct LayerFormats {
  std::array<MatrixForm, kMatrixParts> formats;
  kernels::WeightFormat floating = kernels::WeightFormat::f32;  ///< of small matrices that no quantization rounds
  LayerFormats(const MatrixForm& matrices, const MatrixForm& experts)
      : formats{matrices, matrices, matrices, matrices, experts, experts} {}
  const MatrixForm& of(MatrixPart part) const { return formats[static_cast<std::size_t>(part)]; }
  bool operator==(const LayerFormats&) const = default;
};

/// Formats of a layer's stored codes, kept without rounding. nullopt: floating weights, or codes of several formats.
using StoredLayer = std::array<std::optional<kernels::WeightFormat>, kMatrixParts>;

}  // namespace lathe::engine
