// SPDX-License-Identifier: Apache-2.0
// WeightStorage: in which formats a decoder keeps its weights, and the names under which users ask for them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/options.h"
#include "engine/model/layer_formats.h"
#include "kernels/api/backend.h"

namespace lathe::engine {

/// What a checkpoint has.
struct StoredWeights {
  StoredWeights(kernels::Dtype floating) : dtype(floating) {}  // NOLINT(google-explicit-constructor): as below
  kernels::Dtype dtype;  ///< of most parameters that do not stay codes; what quantized ones become otherwise
  /// What its codes are without rounding: of all matrices of the layers but those of experts, of all those, of the head.
  /// Nothing: there are others among them.
  std::optional<kernels::WeightFormat> matrices{}, experts{}, head{};
  /// Of each layer, where its matrices or experts are not all alike; else empty.
  std::vector<StoredLayer> layers{};
  /// Rows of those codes, of some matrices at least, have an order of their own.
  bool matrices_are_ordered = false, experts_are_ordered = false;
};

struct WeightStorage {
  /// Nothing quantized. Requires: a floating type.
  WeightStorage(kernels::Dtype floating);  // NOLINT(google-explicit-constructor): a type is a way to store weights

  kernels::Dtype dtype;            ///< of the embeddings; norms and biases are f32
  kernels::WeightFormat matrices;  ///< of the layers, but for those of experts
  kernels::WeightFormat experts;
  kernels::WeightFormat head;  ///< of the product that gives logits
  /// An order of their inputs lies beside matrices that keep their codes: StoredWeights has the same codes so.
  bool matrices_are_ordered = false, experts_are_ordered = false;
  /// Of SmoothQuant; nothing: matrices are rounded as they are.
  std::optional<double> smoothing_alpha{};
  std::vector<LayerFormats> layers{};  ///< in the place of matrices and experts, where layers differ; else empty

  bool has_input_orders() const;  ///< of any matrices of the layers
  LayerFormats of_layer(std::int64_t layer) const {
    return layers.empty() ? LayerFormats({matrices, matrices_are_ordered}, {experts, experts_are_ordered})
                          : layers[static_cast<std::size_t>(layer)];
  }
};

/// A value of the option `quantization`.
struct Quantization {
  std::string_view name;
  kernels::WeightFormat matrices;
  bool keeps_head = false;  ///< leaves the head as it is, whatever `keep_head` says
  bool smooths = false;     ///< moves the range of activations into the weights first
  /// Of formats in groups: what `quantization_zero_point` makes of them.
  std::optional<kernels::WeightFormat> with_zero_points{};
};

/// THE TABLE of quantizations, without "none".
std::span<const Quantization> quantizations();
/// Null: "none", or a name that is in no row.
const Quantization* find_quantization(std::string_view name);

/// A value of the options `dtype` and `kv_cache_dtype`. Requires: one that the option table admits.
kernels::Dtype dtype_of(const std::string& value, kernels::Dtype when_auto);

/// The formats that matrices, or experts, stay in, for people: "int4_g32_min + int8_g16". Empty: none.
std::string kept_formats(const StoredWeights& stored, bool of_experts);

/// What `options` ask for that checkpoint. Blocks stay what they are unless a quantization or a type is asked for.
WeightStorage storage_of(const EngineOptions& options, const StoredWeights& stored);

}  // namespace lathe::engine
