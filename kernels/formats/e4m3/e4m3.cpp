// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/e4m3/e4m3.h"

#include <algorithm>
#include <limits>

#include "kernels/api/dtype.h"
#include "kernels/formats/codes/plain_blocks.h"
#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {
namespace {

constexpr float kLargest = 448;

/// Scale of a row or a group. It stays finite: an infinite scale would turn every weight into NaN.
CodeScale scale_of(const CodedFormat&, std::span<const float> weights) {
  return {.scale =
              std::min(largest_magnitude(weights.data(), weights.size()), std::numeric_limits<float>::max()) / kLargest};
}

void encode(const CodedFormat&, std::span<const float> weights, const CodeScale& shared, std::uint8_t* codes) {
  const float scale = shared.scale;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    codes[i] = scale > 0 ? f32_to_e4m3(bounded(weights[i] / scale, -kLargest, kLargest)) : std::uint8_t{0};
  }
}

float decode(const CodedFormat&, std::uint8_t code, const CodeScale& shared) { return e4m3_to_f32(code) * shared.scale; }

// Kernels widen e4m3 through f16, whose exponent bias is greater by 8: widened values are 2^-8 of the true ones.
constexpr float kStep = 256;

}  // namespace

CodedFormat e4m3_format(ActivationScale activations) {
  return {.kind = CodeElement::e4m3,
          .bits = 8,
          .scales = ScaleLayout::channel,
          .activations = activations,
          .scale_of = scale_of,
          .encode = encode,
          .decode = decode,
          .step = kStep,
          .blocks = &plain_blocks()};
}

CodedFormat e4m3_group_format(int group) {
  CodedFormat format = e4m3_format(ActivationScale::none);
  format.group = group;
  format.scales = ScaleLayout::single;
  return format;
}

}  // namespace lathe::kernels
