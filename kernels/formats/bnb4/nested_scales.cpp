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

}  // namespace

float NestedScales::at(std::size_t i) const {
  const float inner = dynamic_map()[codes[i]] * outer[i / kNestedBlock];
  return inner + mean;
}

NestedScales nest(std::span<const float> scales) {
  NestedScales nested;
  double sum = 0;
  for (const float scale : scales) sum += scale;
  nested.mean = scales.empty() ? 0 : static_cast<float>(sum / static_cast<double>(scales.size()));
  nested.codes.resize(scales.size());
  std::vector<float> block;
  for (std::size_t begin = 0; begin < scales.size(); begin += kNestedBlock) {
    block.clear();
    for (const float scale : scales.subspan(begin, std::min<std::size_t>(kNestedBlock, scales.size() - begin))) {
      block.push_back(scale - nested.mean);
    }
    const float largest = largest_magnitude(block);
    nested.outer.push_back(largest);
    for (std::size_t i = 0; i < block.size(); ++i) {
      nested.codes[begin + i] = nearest_code(largest > 0 ? block[i] / largest : 0);
    }
  }
  return nested;
}

}  // namespace lathe::kernels
