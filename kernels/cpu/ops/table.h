// SPDX-License-Identifier: Apache-2.0
// Builds the OpTable of a vector type.
#pragma once

#include "kernels/cpu/ops/attention.h"
#include "kernels/cpu/ops/ceilings.h"
#include "kernels/cpu/ops/coded_linear.h"
#include "kernels/cpu/ops/e4m3_linear.h"
#include "kernels/cpu/ops/expanded_linear.h"
#include "kernels/cpu/ops/recurrent.h"
#include "kernels/cpu/ops/rowwise.h"
#include "kernels/cpu/table/by_format.h"

namespace lathe::kernels {
namespace {

/// Combines the parts of a coded format: CodedLinear, or the class that replaces it on an instruction set.
template <template <class, class, class, int, class, class> class Linear>
struct CodedForms {
  /// Codes in groups, activations rounded in blocks.
  template <class V, class C, class D, int kGroup, class S>
  using InBlocks = Linear<V, C, D, kGroup, S, BlockActivations<V>>;
  /// One scale per output and per row of activations.
  template <class V, class D, bool kLeavesOutliersOut>
  using InRows = Linear<V, ByteCodes<V>, D, kActivationBlock, ChannelScales, RowActivations<V, kLeavesOutliersOut>>;
};

/// ByteDot, NibbleDot: dot products for codes of 8 and of 4 bits.
template <class V, class ByteDot, class NibbleDot,
          template <class, class, class, int, class, class> class Linear = CodedLinear>
consteval OpTable make_op_table() {
  using enum WeightFormat;
  using Forms = CodedForms<Linear>;
  using Bytes = ByteCodes<V>;
  using Nibbles = NibbleCodes<V>;
  using Nf4 = BookCodes<V, Nf4Book>;
  using Fp4 = BookCodes<V, Fp4Book>;
  using Mxfp4 = BookCodes<V, Mxfp4Book>;
  using Iq4 = BookCodes<V, Iq4Book>;
  // Formats that are multiplied with tiles of vectors only. NarrowDot sums 32 k before it widens the sums, so it cannot
  // serve groups of 16.
  using Plain = CodedForms<CodedLinear>;
  return {
      .linear = by_every_format<LinearOps>({
          {f32, linear_ops<FmaLinear<V, SplitWeights<V, float>, kNeverExpand>>()},
          {f16, linear_ops<FmaLinear<V, SplitWeights<V, F16>, 3>>()},
          {bf16, linear_ops<FmaLinear<V, InterleavedBf16<V>, 3>>()},
          {int8_g32, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 32, HalfScales>>()},
          {int8_g64, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 64, HalfScales>>()},
          {int8_g128, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 128, HalfScales>>()},
          {int4_g32, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 32, HalfScales>>()},
          {int4_g64, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 64, HalfScales>>()},
          {int4_g128, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 128, HalfScales>>()},
          {nf4, coded_ops<typename Forms::template InBlocks<V, Nf4, ByteDot, 64, SingleScales>>()},
          {nf4_nested, coded_ops<typename Forms::template InBlocks<V, Nf4, ByteDot, 64, NestedScaleCodes>>()},
          {fp4, coded_ops<typename Forms::template InBlocks<V, Fp4, ByteDot, 64, SingleScales>>()},
          {fp4_nested, coded_ops<typename Forms::template InBlocks<V, Fp4, ByteDot, 64, NestedScaleCodes>>()},
          {int8_channel, coded_ops<typename Forms::template InRows<V, ByteDot, false>>()},
          {llm_int8, coded_ops<typename Forms::template InRows<V, ByteDot, true>>()},
          {fp8_channel, e4m3_ops<E4m3Linear<V, true>>()},
          {fp8_weight_only, e4m3_ops<E4m3Linear<V, false>>()},
          {int8_g32_asym, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 32, PairedScales>>()},
          {int8_g64_asym, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 64, PairedScales>>()},
          {int8_g128_asym, coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 128, PairedScales>>()},
          {int4_g32_asym, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 32, PairedScales>>()},
          {int4_g64_asym, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 64, PairedScales>>()},
          {int4_g128_asym, coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 128, PairedScales>>()},
          {nf4_weight_only, expanded_ops<BookExpander<V, Nf4Book, 64, SingleScales>>()},
          {nf4_nested_weight_only, expanded_ops<BookExpander<V, Nf4Book, 64, NestedScaleCodes>>()},
          {fp4_weight_only, expanded_ops<BookExpander<V, Fp4Book, 64, SingleScales>>()},
          {fp4_nested_weight_only, expanded_ops<BookExpander<V, Fp4Book, 64, NestedScaleCodes>>()},
          {mxfp4, coded_ops<typename Forms::template InBlocks<V, Mxfp4, ByteDot, kMxBlock, SingleScales>>()},
          {mxfp4_weight_only, expanded_ops<BookExpander<V, Mxfp4Book, kMxBlock, SingleScales>>()},
          {int8_g16, coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 16, SingleScales>>()},
          {int4_g32_min, coded_ops<typename Plain::template InBlocks<V, Nibbles, NibbleDot, 32, MinnedScales>>()},
          {int8_g32_min, coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 32, MinnedScales>>()},
          {int4_g16_min, coded_ops<typename Plain::template InBlocks<V, Nibbles, ByteDot, 16, MinnedScales>>()},
          {int8_g16_min, coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 16, MinnedScales>>()},
          {iq4, coded_ops<typename Forms::template InBlocks<V, Iq4, ByteDot, 32, SingleScales>>()},
          {fp8_g128, linear_ops<E4m3InGroups<V, 128>>()},
      }),
      .norm = {rms_norm<V>, layer_norm<V>},
      .rope = rope<V>,
      .add = add<V>,
      .activate = {activate<V, Silu>, activate<V, Gelu>, activate<V, GeluTanh>, activate<V, Relu>, activate<V, ClampedSilu>, activate<V, ReluSquared>},
      .scale = scale<V>,
      .clamp = clamp<V>,
      .soft_cap = soft_cap<V>,
      .scale_by_sigmoid = scale_by_sigmoid<V>,
      .recurrent = {.causal_conv1d = causal_conv1d<V>,
                    .l2_norm_heads = l2_norm_heads<V>,
                    .norm_heads_gated = norm_heads_gated<V>,
                    .multiply_by_sigmoid = multiply_by_sigmoid<V>,
                    .multiply = multiply_rows<V>,
                    .gated_delta_rule = gated_delta_rule<V>},
      .attend = attend<V>,
      .merge_attention = merge_attention<V>,
      .read_bytes = read_bytes<V>,
      .multiply_add = multiply_add<V>,
      .bf16_dot = nullptr,
      .int8_dot = dot_codes<V, ByteDot>,
      .int4_dot = dot_codes<V, NibbleDot>};
}

}  // namespace
}  // namespace lathe::kernels
