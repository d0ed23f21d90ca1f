// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/int8_channel/int8_channel.h"

#include "kernels/api/dtype.h"
#include "kernels/formats/codes/rounding.h"

namespace lathe::kernels {
namespace {

constexpr float kMiddle = 128;

std::uint8_t code_of(float steps) { return static_cast<std::uint8_t>(to_nearest(bounded(steps, -127.0F, 127.0F)) + kMiddle); }

float channel_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr float kSmallest = 1e-5F;
  return std::max(largest_magnitude(weights), kSmallest) / 127;
}

void channel_encode(const CodedFormat&, std::span<const float> weights, float scale, std::uint8_t* codes) {
  for (std::size_t i = 0; i < weights.size(); ++i) codes[i] = code_of(weights[i] / scale);
}

float channel_decode(const CodedFormat&, std::uint8_t code, float scale) { return (static_cast<float>(code) - kMiddle) * scale; }

float as_f16(float x) { return f16_to_f32(f32_to_f16(x)); }

/// An infinite scale would turn every weight of the row into NaN.
float llm_scale(const CodedFormat&, std::span<const float> weights) {
  constexpr float kLargestF16 = 65504;
  return as_f16(std::min(largest_magnitude(weights), kLargestF16));
}

void llm_encode(const CodedFormat&, std::span<const float> weights, float scale, std::uint8_t* codes) {
  const float to_code = scale > 0 ? 1.0F / scale * 127.0F : 0;  // as PyTorch divides a number by a tensor
  for (std::size_t i = 0; i < weights.size(); ++i) codes[i] = code_of(as_f16(weights[i]) * to_code);
}

/// The package multiplies by the reciprocal of 127.
constexpr float kStep = 7.874015718698502e-3F;

float llm_decode(const CodedFormat&, std::uint8_t code, float scale) {
  return (static_cast<float>(code) - kMiddle) * scale * kStep;
}

}  // namespace

CodedFormat int8_channel_format() {
  return {.bits = 8,
          .scales = ScaleLayout::channel,
          .activations = ActivationScale::row,
          .scale_of = channel_scale,
          .encode = channel_encode,
          .decode = channel_decode};
}

CodedFormat llm_int8_format() {
  return {.bits = 8,
          .scales = ScaleLayout::channel,
          .activations = ActivationScale::row_of_inliers,
          .scale_of = llm_scale,
          .encode = llm_encode,
          .decode = llm_decode,
          .step = kStep};
}

}  // namespace lathe::kernels
