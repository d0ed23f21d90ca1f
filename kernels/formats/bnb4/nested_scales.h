// SPDX-License-Identifier: Apache-2.0
// NestedScales: scales that are themselves quantized, the double quantization of bitsandbytes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/api/rounded_tensor.h"

namespace lathe::kernels {

/// Number of scales whose codes share an outer scale.
inline constexpr std::int64_t kNestedBlock = 256;

/// Scale i is dynamic_map()[codes[i]] * outer[i / 256] + mean.
struct NestedScales {
  std::vector<std::uint8_t> codes;
  std::vector<float> outer;
  float mean = 0;
  float at(std::size_t i) const;
};

/// Quantizes the scales of a whole tensor, each to the nearest code.
NestedScales nest(std::span<const float> scales, const ParallelFor& parallel_for);

}  // namespace lathe::kernels
