// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/bnb4/nested_scales.h"

#include <algorithm>

#include "kernels/formats/bnb4/dynamic_map.h"
#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {
namespace {

std::uint8_t nearest_code(float x) {
  const float* const map = dynamic_map();
  const float* const above = std::upper_bound(map + 1, map + 255, x);
  const float* const below = above - 1;
  const bool is_nearer_above = *above - x < x - *below;
  return static_cast<std::uint8_t>((is_nearer_above ? above : below) - map);
}

/// Writes the codes of a block of scales less their mean. Returns the outer scale of the block.
float nest_block(std::span<const float> scales, float mean, std::uint8_t* codes) {
  float beyond[kNestedBlock];
  for (std::size_t i = 0; i < scales.size(); ++i) beyond[i] = scales[i] - mean;
  const float largest = largest_magnitude(beyond, scales.size());
  for (std::size_t i = 0; i < scales.size(); ++i) codes[i] = nearest_code(largest > 0 ? beyond[i] / largest : 0);
  return largest;
}

}  // namespace

float NestedScales::at(std::size_t i) const {
  const float inner = dynamic_map()[codes[i]] * outer[i / kNestedBlock];
  return inner + mean;
}

NestedScales nest(std::span<const float> scales, const ParallelFor& parallel_for) {
  NestedScales nested;
  double sum = 0;
  for (const float scale : scales) sum += scale;
  nested.mean = scales.empty() ? 0 : static_cast<float>(sum / static_cast<double>(scales.size()));
  nested.codes.resize(scales.size());
  nested.outer.resize((scales.size() + kNestedBlock - 1) / kNestedBlock);
  parallel_for(static_cast<std::int64_t>(nested.outer.size()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto first = static_cast<std::size_t>(i * kNestedBlock);
      const auto block = scales.subspan(first, std::min<std::size_t>(kNestedBlock, scales.size() - first));
      nested.outer[static_cast<std::size_t>(i)] = nest_block(block, nested.mean, nested.codes.data() + first);
    }
  });
  return nested;
}

}  // namespace lathe::kernels
