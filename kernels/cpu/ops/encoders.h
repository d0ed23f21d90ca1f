// SPDX-License-Identifier: Apache-2.0
// Encoders of the formats, compiled for one instruction set.
#pragma once

#include "kernels/cpu/table/encoders.h"
#include "kernels/formats/bnb4/bnb4_encoder.h"
#include "kernels/formats/grouped/grouped_encoder.h"
#include "kernels/formats/int8_channel/int8_channel_encoder.h"
#include "kernels/formats/mxfp4/mxfp4_encoder.h"

namespace lathe::kernels {
namespace {

constexpr Encoder kGrouped{grouped_scale, grouped_encode};
constexpr Encoder kAsymmetric{asymmetric_scale, asymmetric_encode};
constexpr Encoder kNf4{bnb4_scale, bnb4_encode<Nf4Book>};
constexpr Encoder kFp4{bnb4_scale, bnb4_encode<Fp4Book>};
constexpr Encoder kMxfp4{mxfp4_scale, bnb4_encode<Mxfp4Book>};
constexpr Encoder kChannel{channel_scale, channel_encode};
constexpr Encoder kLlm{llm_scale, llm_encode};

consteval Encoders make_encoders() {
  using enum WeightFormat;
  return {by_format<Encoder>({
      {int8_g32, kGrouped},
      {int8_g64, kGrouped},
      {int8_g128, kGrouped},
      {int4_g32, kGrouped},
      {int4_g64, kGrouped},
      {int4_g128, kGrouped},
      {nf4, kNf4},
      {nf4_nested, kNf4},
      {fp4, kFp4},
      {fp4_nested, kFp4},
      {int8_channel, kChannel},
      {llm_int8, kLlm},
      {int8_g32_asym, kAsymmetric},
      {int8_g64_asym, kAsymmetric},
      {int8_g128_asym, kAsymmetric},
      {int4_g32_asym, kAsymmetric},
      {int4_g64_asym, kAsymmetric},
      {int4_g128_asym, kAsymmetric},
      {nf4_weight_only, kNf4},
      {nf4_nested_weight_only, kNf4},
      {fp4_weight_only, kFp4},
      {fp4_nested_weight_only, kFp4},
      {mxfp4, kMxfp4},
      {mxfp4_weight_only, kMxfp4},
      {int8_g16, kGrouped},
  })};
}
constexpr Encoders kEncoders = make_encoders();

}  // namespace
}  // namespace lathe::kernels
