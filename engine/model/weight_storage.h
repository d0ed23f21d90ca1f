// SPDX-License-Identifier: Apache-2.0
// WeightStorage: the formats in which a decoder keeps its weights, and the names by which users ask for them.
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

struct StoredType;

/// Types and weight formats of a checkpoint's files.
struct StoredWeights {
  StoredWeights(kernels::Dtype floating) : dtype(floating) {}  // NOLINT(google-explicit-constructor): as below
  kernels::Dtype dtype;  ///< most common among parameters that do not stay codes; also the type of decoded ones
  /// Formats of the stored codes, kept without rounding: of the layers' matrices without experts, of all experts' matrices,
  /// of the head. nullopt: they have no format in common.
  std::optional<kernels::WeightFormat> matrices{}, experts{}, head{};
  /// Formats of each layer, where its matrices or experts differ; else empty.
  std::vector<StoredLayer> layers{};
  /// At least some matrices whose codes are kept have an input order (desc_act).
  bool matrices_are_ordered = false, experts_are_ordered = false;
  const StoredType* per_layer_table = nullptr;  ///< of the per-layer embeddings, if the model has them
};

struct WeightStorage {
  /// All weights in one floating type, none quantized.
  WeightStorage(kernels::Dtype floating);  // NOLINT(google-explicit-constructor): a type is a way to store weights

  kernels::Dtype dtype;            ///< type of the embeddings; norms and biases are f32
  kernels::WeightFormat matrices;  ///< format of the layers' matrices without experts
  kernels::WeightFormat experts;
  kernels::WeightFormat head;  ///< format of the product that gives logits
  /// Matrices that keep their stored codes have an input order, as in StoredWeights.
  bool matrices_are_ordered = false, experts_are_ordered = false;
  /// SmoothQuant's alpha; nullopt: matrices are rounded without smoothing.
  std::optional<double> smoothing_alpha{};
  /// Formats of each layer, in place of `matrices` and `experts`, where layers differ; else empty.
  std::vector<LayerFormats> layers{};
  /// Type of the per-layer embeddings, which stay as the files have them: they are the largest tensor, and a token reads one
  /// row of it. Null: in `dtype`.
  const StoredType* per_layer_table = nullptr;

  bool has_input_orders() const;  ///< true if any matrix of the layers has one
  LayerFormats of_layer(std::int64_t layer) const;
};

/// A value of the option `quantization`.
struct Quantization {
  std::string_view name;
  kernels::WeightFormat matrices;
  bool keeps_head = false;  ///< leaves the head unquantized, whatever `keep_head` says
  bool smooths = false;     ///< first moves the range of activations into the weights
  /// The format that `quantization_zero_point` chooses, for formats in groups.
  std::optional<kernels::WeightFormat> with_zero_points{};
};

/// A value of the option `bnb_4bit_quant_type`: the numbers of bitsandbytes_4bit's codes.
struct Bnb4bitType {
  std::string_view name;
  /// By the index of whether scales are quantized too (0, 1), then of whether activations stay unrounded.
  kernels::WeightFormat formats[2][2];
};
/// THE TABLE of the types of bitsandbytes_4bit.
std::span<const Bnb4bitType> bnb_4bit_types();

/// THE TABLE of quantizations, without "none".
std::span<const Quantization> quantizations();
/// Null for "none" and for unknown names.
const Quantization* find_quantization(std::string_view name);

/// Parses a value of the options `dtype` and `kv_cache_dtype`. Requires: a value that the option table admits.
kernels::Dtype dtype_of(const std::string& value, kernels::Dtype when_auto);

/// Names the formats in which matrices (or experts) stay, for people: "int4_g32_min + int8_g16". Empty: none.
std::string kept_formats(const StoredWeights& stored, bool of_experts);

/// The storage that `options` ask for. Stored codes are kept unless a quantization or a type is asked for.
WeightStorage storage_of(const EngineOptions& options, const StoredWeights& stored);

}  // namespace lathe::engine
