// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/grouped.h"

#include "kernels/formats/codes/plain_blocks.h"
#include "kernels/formats/grouped/grouped_encoder.h"
#include "kernels/formats/grouped/stored_blocks.h"

namespace lathe::kernels {
namespace {

float decode(const CodedFormat& format, std::uint8_t code, const CodeScale& group) {
  return static_cast<float>(code - middle_of(format)) * group.scale;
}

float asymmetric_decode(const CodedFormat&, std::uint8_t code, const CodeScale& group) {
  return (static_cast<float>(code) - group.zero) * group.scale;
}

}  // namespace

CodedFormat grouped_format(int bits, int group) {
  const StoredBlocks* const of_files = bits == 8 ? &q8_0_blocks() : &q4_0_blocks();
  return {.bits = bits,
          .group = group,
          .scales = ScaleLayout::half,
          .scale_of = grouped_scale,
          .encode = grouped_encode,
          .decode = decode,
          .blocks = group == 32 ? of_files : &plain_blocks()};
}

CodedFormat single_format(int bits, int group) {
  CodedFormat format = grouped_format(bits, group);
  format.scales = ScaleLayout::single;
  format.blocks = &plain_blocks();
  return format;
}

CodedFormat asymmetric_format(int bits, int group) {
  return {.bits = bits,
          .group = group,
          .scales = ScaleLayout::paired,
          .scale_of = asymmetric_scale,
          .encode = asymmetric_encode,
          .decode = asymmetric_decode,
          .blocks = &plain_blocks_with_zeros()};
}

}  // namespace lathe::kernels
