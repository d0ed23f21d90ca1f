// SPDX-License-Identifier: Apache-2.0
// The loops of the formats, to be compiled for an instruction set.
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

/// In the order of WeightFormat.
constexpr Encoders kEncoders = {
    {{},          {},          {},          kGrouped, kGrouped, kGrouped, kGrouped, kGrouped,    kGrouped,    kNf4,
     kNf4,        kFp4,        kFp4,        kChannel, kLlm,     {},       {},       kAsymmetric, kAsymmetric, kAsymmetric,
     kAsymmetric, kAsymmetric, kAsymmetric, kNf4,     kNf4,     kFp4,     kFp4,     kMxfp4,      kMxfp4,      kGrouped}};

}  // namespace
}  // namespace lathe::kernels
