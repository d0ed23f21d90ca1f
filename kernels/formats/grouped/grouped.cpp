// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/grouped.h"

#include "kernels/formats/grouped/grouped_encoder.h"

namespace lathe::kernels {
namespace {

float decode(const CodedFormat& format, std::uint8_t code, float scale) {
  return static_cast<float>(code - middle_of(format)) * scale;
}

}  // namespace

CodedFormat grouped_format(int bits, int group) {
  return {.bits = bits,
          .group = group,
          .scales = ScaleLayout::half,
          .scale_of = grouped_scale,
          .encode = grouped_encode,
          .decode = decode};
}

}  // namespace lathe::kernels
