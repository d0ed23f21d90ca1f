// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/int8_channel/int8_channel.h"

#include "kernels/formats/codes/plain_blocks.h"
#include "kernels/formats/int8_channel/int8_channel_encoder.h"

namespace lathe::kernels {
namespace {

float channel_decode(const CodedFormat&, std::uint8_t code, const CodeScale& of_row) {
  return (static_cast<float>(code) - kMiddle) * of_row.scale;
}

/// 1 / 127 rounded to f32: bitsandbytes multiplies by the reciprocal.
constexpr float kStep = 7.874015718698502e-3F;

float llm_decode(const CodedFormat&, std::uint8_t code, const CodeScale& of_row) {
  return (static_cast<float>(code) - kMiddle) * of_row.scale * kStep;
}

}  // namespace

CodedFormat int8_channel_format() {
  return {.bits = 8,
          .scales = ScaleLayout::channel,
          .activations = ActivationScale::row,
          .scale_of = channel_scale,
          .encode = channel_encode,
          .decode = channel_decode,
          .blocks = &plain_blocks()};
}

CodedFormat llm_int8_format() {
  return {.bits = 8,
          .scales = ScaleLayout::channel,
          .activations = ActivationScale::row_of_inliers,
          .scale_of = llm_scale,
          .encode = llm_encode,
          .decode = llm_decode,
          .step = kStep,
          .blocks = &plain_blocks()};
}

}  // namespace lathe::kernels
