// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_storage.h"

#include <algorithm>
#include <array>

#include "kernels/api/check.h"
#include "kernels/api/roofline.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::WeightFormat;

namespace {

WeightFormat format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return WeightFormat::f16;
    case Dtype::bf16: return WeightFormat::bf16;
    default: LATHE_CHECK(dtype == Dtype::f32); return WeightFormat::f32;
  }
}

constexpr bool kKeepsHead = true, kSmooths = true;

constexpr Quantization in_groups(std::string_view name, WeightFormat symmetric, WeightFormat asymmetric) {
  return {.name = name, .matrices = symmetric, .with_zero_points = asymmetric};
}

constexpr std::array kQuantizations = {Quantization{"bitsandbytes_4bit", WeightFormat::nf4, kKeepsHead},
                                       Quantization{"bitsandbytes_8bit", WeightFormat::llm_int8, kKeepsHead},
                                       in_groups("int8_g32", WeightFormat::int8_g32, WeightFormat::int8_g32_asym),
                                       in_groups("int8_g64", WeightFormat::int8_g64, WeightFormat::int8_g64_asym),
                                       in_groups("int8_g128", WeightFormat::int8_g128, WeightFormat::int8_g128_asym),
                                       in_groups("int4_g32", WeightFormat::int4_g32, WeightFormat::int4_g32_asym),
                                       in_groups("int4_g64", WeightFormat::int4_g64, WeightFormat::int4_g64_asym),
                                       in_groups("int4_g128", WeightFormat::int4_g128, WeightFormat::int4_g128_asym),
                                       Quantization{"dynamic_int8", WeightFormat::int8_channel},
                                       Quantization{"fp8", WeightFormat::fp8_channel},
                                       Quantization{"fp8_weight_only", WeightFormat::fp8_weight_only},
                                       Quantization{"smoothquant", WeightFormat::int8_channel, kKeepsHead, kSmooths}};

constexpr std::array kBnb4bitTypes = {
    Bnb4bitType{"nf4",
                {{WeightFormat::nf4, WeightFormat::nf4_weight_only},
                 {WeightFormat::nf4_nested, WeightFormat::nf4_nested_weight_only}}},
    Bnb4bitType{"fp4",
                {{WeightFormat::fp4, WeightFormat::fp4_weight_only},
                 {WeightFormat::fp4_nested, WeightFormat::fp4_nested_weight_only}}},
};

/// The format of bitsandbytes_4bit follows from its own options.
WeightFormat bnb_4bit_format(const EngineOptions& options) {
  const auto* const type = std::find_if(kBnb4bitTypes.begin(), kBnb4bitTypes.end(),
                                        [&](const Bnb4bitType& row) { return row.name == options.bnb_4bit_quant_type; });
  const bool is_weight_only = options.bnb_4bit_compute_dtype != "auto";
  const Bnb4bitType& numbers = type != kBnb4bitTypes.end() ? *type : kBnb4bitTypes.front();
  return numbers.formats[options.bnb_4bit_use_double_quant ? 1 : 0][is_weight_only ? 1 : 0];
}

/// Stored codes stay, with their input orders; all other parts take the format `numbers`.
LayerFormats forms_of(const StoredLayer& layer, const StoredWeights& stored, WeightFormat numbers) {
  LayerFormats forms(numbers, numbers);
  for (std::size_t i = 0; i < kMatrixParts; ++i) {
    const bool is_expert = is_of_experts(static_cast<MatrixPart>(i));
    if (layer[i]) forms.formats[i] = {*layer[i], is_expert ? stored.experts_are_ordered : stored.matrices_are_ordered};
  }
  return forms;
}

}  // namespace

WeightStorage::WeightStorage(Dtype floating)
    : dtype(floating), matrices(format_of(floating)), experts(matrices), head(matrices) {}

LayerFormats WeightStorage::of_layer(std::int64_t layer) const {
  LayerFormats formats = layers.empty() ? LayerFormats({matrices, matrices_are_ordered}, {experts, experts_are_ordered})
                                        : layers[static_cast<std::size_t>(layer)];
  formats.floating = format_of(dtype);
  return formats;
}

bool WeightStorage::has_input_orders() const {
  const auto has_orders = [](const LayerFormats& layer) {
    return std::any_of(layer.formats.begin(), layer.formats.end(), [](const MatrixForm& form) { return form.is_ordered; });
  };
  return layers.empty() ? has_orders(of_layer(0)) : std::any_of(layers.begin(), layers.end(), has_orders);
}

std::span<const Quantization> quantizations() { return kQuantizations; }

std::span<const Bnb4bitType> bnb_4bit_types() { return kBnb4bitTypes; }

const Quantization* find_quantization(std::string_view name) {
  const auto* const found =
      std::find_if(kQuantizations.begin(), kQuantizations.end(), [&](const Quantization& row) { return row.name == name; });
  return found != kQuantizations.end() ? found : nullptr;
}

Dtype dtype_of(const std::string& value, Dtype when_auto) {
  for (const Dtype dtype : kernels::kKvDtypes) {  // floating types are among them
    if (value == name_of(dtype)) return dtype;
  }
  return when_auto;
}

std::string kept_formats(const StoredWeights& stored, bool of_experts) {
  std::vector<WeightFormat> formats;
  const auto add = [&](const std::optional<WeightFormat>& format) {
    if (format && std::find(formats.begin(), formats.end(), *format) == formats.end()) formats.push_back(*format);
  };
  add(of_experts ? stored.experts : stored.matrices);
  for (const StoredLayer& layer : stored.layers) {
    for (std::size_t i = 0; i < kMatrixParts; ++i) {
      if (is_of_experts(static_cast<MatrixPart>(i)) == of_experts) add(layer[i]);
    }
  }
  std::string words;
  for (const WeightFormat format : formats) words += (words.empty() ? "" : " + ") + std::string(name_of(format));
  return words;
}

WeightStorage storage_of(const EngineOptions& options, const StoredWeights& stored) {
  WeightStorage storage = dtype_of(options.dtype, stored.dtype);
  storage.per_layer_table = stored.per_layer_table;
  if (const Quantization* chosen = find_quantization(options.quantization)) {
    storage.matrices = chosen->matrices;
    if (chosen->matrices == WeightFormat::nf4) storage.matrices = bnb_4bit_format(options);
    if (options.quantization_zero_point) storage.matrices = chosen->with_zero_points.value_or(storage.matrices);
    storage.experts = storage.matrices;
    if (!chosen->keeps_head && !options.keep_head) storage.head = storage.matrices;
    if (chosen->smooths) storage.smoothing_alpha = options.smoothquant_alpha;
  } else if (options.dtype == "auto") {
    storage.matrices = stored.matrices.value_or(storage.matrices);
    storage.experts = stored.experts.value_or(storage.experts);
    storage.head = stored.head.value_or(storage.head);
    for (const StoredLayer& layer : stored.layers) {
      storage.layers.push_back(forms_of(layer, stored, format_of(storage.dtype)));
    }
  }
  if (storage.smoothing_alpha) return storage;
  storage.matrices_are_ordered = stored.matrices_are_ordered && storage.matrices == stored.matrices;
  storage.experts_are_ordered = stored.experts_are_ordered && storage.experts == stored.experts;
  return storage;
}

}  // namespace lathe::engine
