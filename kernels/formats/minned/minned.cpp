// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/minned/minned.h"

#include <cmath>

#include "kernels/formats/codes/plain_blocks.h"

namespace lathe::kernels {
namespace {

float highest_code(const CodedFormat& format) { return static_cast<float>((1 << format.bits) - 1); }

/// Scale and minimum of a group. NaN is ignored; if all weights are NaN, both are 0.
CodeScale scale_of(const CodedFormat& format, std::span<const float> weights) {
  float least = HUGE_VALF, greatest = -HUGE_VALF;
  for (const float weight : weights) {
    least = weight < least ? weight : least;
    greatest = weight > greatest ? weight : greatest;
  }
  if (least > greatest) return {};
  // The division comes before the difference, because the difference of the largest floats is infinite.
  const float most = highest_code(format);
  return {.scale = greatest / most - least / most, .zero = least};
}

void encode(const CodedFormat& format, std::span<const float> weights, const CodeScale& group, std::uint8_t* codes) {
  const float most = highest_code(format);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const float code = group.scale == 0 ? 0 : std::nearbyint((weights[i] - group.zero) / group.scale);
    codes[i] = static_cast<std::uint8_t>(code > 0 ? std::fmin(code, most) : 0);
  }
}

float decode(const CodedFormat&, std::uint8_t code, const CodeScale& group) {
  return std::fma(static_cast<float>(code), group.scale, group.zero);
}

}  // namespace

CodedFormat minned_format(int bits, int group) {
  return {.bits = bits,
          .group = group,
          .scales = ScaleLayout::minned,
          .scale_of = scale_of,
          .encode = encode,
          .decode = decode,
          .blocks = &plain_blocks_with_zeros()};
}

}  // namespace lathe::kernels
