// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_storage.h"

#include <algorithm>
#include <array>

#include "kernels/api/check.h"

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

constexpr std::array kQuantizations = {Quantization{"bitsandbytes_4bit", WeightFormat::nf4, kKeepsHead},
                                       Quantization{"bitsandbytes_8bit", WeightFormat::llm_int8, kKeepsHead},
                                       Quantization{"int8_g32", WeightFormat::int8_g32},
                                       Quantization{"int8_g64", WeightFormat::int8_g64},
                                       Quantization{"int8_g128", WeightFormat::int8_g128},
                                       Quantization{"int4_g32", WeightFormat::int4_g32},
                                       Quantization{"int4_g64", WeightFormat::int4_g64},
                                       Quantization{"int4_g128", WeightFormat::int4_g128},
                                       Quantization{"dynamic_int8", WeightFormat::int8_channel},
                                       Quantization{"fp8", WeightFormat::fp8_channel},
                                       Quantization{"fp8_weight_only", WeightFormat::fp8_weight_only},
                                       Quantization{"smoothquant", WeightFormat::int8_channel, kKeepsHead, kSmooths}};

/// bitsandbytes_4bit has options of its own.
WeightFormat bnb_4bit_format(const EngineOptions& options) {
  const bool is_fp4 = options.bnb_4bit_quant_type == "fp4";
  if (options.bnb_4bit_use_double_quant) return is_fp4 ? WeightFormat::fp4_nested : WeightFormat::nf4_nested;
  return is_fp4 ? WeightFormat::fp4 : WeightFormat::nf4;
}

}  // namespace

WeightStorage::WeightStorage(Dtype floating)
    : dtype(floating), matrices(format_of(floating)), head(format_of(floating)) {}

std::span<const Quantization> quantizations() { return kQuantizations; }

const Quantization* find_quantization(std::string_view name) {
  const auto* const found = std::find_if(kQuantizations.begin(), kQuantizations.end(),
                                         [&](const Quantization& row) { return row.name == name; });
  return found != kQuantizations.end() ? found : nullptr;
}

Dtype dtype_of(const std::string& value, Dtype when_auto) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i8, Dtype::f8_e4m3, Dtype::f8_e5m2}) {
    if (value == name_of(dtype)) return dtype;
  }
  return when_auto;
}

WeightStorage storage_of(const EngineOptions& options, Dtype stored) {
  WeightStorage storage = dtype_of(options.dtype, stored);
  if (const Quantization* chosen = find_quantization(options.quantization)) {
    storage.matrices = chosen->matrices == WeightFormat::nf4 ? bnb_4bit_format(options) : chosen->matrices;
    if (!chosen->keeps_head && !options.keep_head) storage.head = storage.matrices;
    if (chosen->smooths) storage.smoothing_alpha = options.smoothquant_alpha;
  }
  return storage;
}

}  // namespace lathe::engine
