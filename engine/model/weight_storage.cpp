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

constexpr std::array<Quantization, 6> kQuantizations = {{{"int8_g32", WeightFormat::int8_g32},
                                                         {"int8_g64", WeightFormat::int8_g64},
                                                         {"int8_g128", WeightFormat::int8_g128},
                                                         {"int4_g32", WeightFormat::int4_g32},
                                                         {"int4_g64", WeightFormat::int4_g64},
                                                         {"int4_g128", WeightFormat::int4_g128}}};

}  // namespace

WeightStorage::WeightStorage(Dtype floating) : dtype(floating), matrices(format_of(floating)) {}

std::span<const Quantization> quantizations() { return kQuantizations; }

const Quantization* find_quantization(std::string_view name) {
  const auto* const found = std::find_if(kQuantizations.begin(), kQuantizations.end(),
                                         [&](const Quantization& row) { return row.name == name; });
  return found != kQuantizations.end() ? found : nullptr;
}

}  // namespace lathe::engine
