// SPDX-License-Identifier: Apache-2.0
// Fills the op table of a vector type.
#pragma once

#include "kernels/cpu/ops/attention.h"
#include "kernels/cpu/ops/ceilings.h"
#include "kernels/cpu/ops/coded_linear.h"
#include "kernels/cpu/ops/e4m3_linear.h"
#include "kernels/cpu/ops/expanded_linear.h"
#include "kernels/cpu/ops/rowwise.h"

namespace lathe::kernels {
namespace {

/// How the parts of a format are put together: CodedLinear, or what takes its place on an instruction set.
template <template <class, class, class, int, class, class> class Linear>
struct CodedForms {
  /// Codes in groups, activations in blocks.
  template <class V, class C, class D, int kGroup, class S>
  using InBlocks = Linear<V, C, D, kGroup, S, BlockActivations<V>>;
  /// A scale for each output and each row.
  template <class V, class D, bool kLeavesOutliersOut>
  using InRows = Linear<V, ByteCodes<V>, D, kActivationBlock, ChannelScales, RowActivations<V, kLeavesOutliersOut>>;
};

/// ByteDot and NibbleDot: how codes of 8 and of 4 bits are multiplied. linear: in the order of WeightFormat.
template <class V, class ByteDot, class NibbleDot,
          template <class, class, class, int, class, class> class Linear = CodedLinear>
constexpr OpTable make_op_table() {
  using Forms = CodedForms<Linear>;
  using Bytes = ByteCodes<V>;
  using Nibbles = NibbleCodes<V>;
  using Nf4 = BookCodes<V, Nf4Book>;
  using Fp4 = BookCodes<V, Fp4Book>;
  using Mxfp4 = BookCodes<V, Mxfp4Book>;
  using Iq4 = BookCodes<V, Iq4Book>;
  // Of formats that have tiles of vectors alone. NarrowDot adds up 32 of k before it widens them: it has no groups of 16.
  using Plain = CodedForms<CodedLinear>;
  return {
      .linear = {linear_ops<FmaLinear<V, SplitWeights<V, float>, kNeverExpand>>(),
                 linear_ops<FmaLinear<V, SplitWeights<V, F16>, 3>>(),
                 linear_ops<FmaLinear<V, InterleavedBf16<V>, 3>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 32, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 64, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 128, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 32, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 64, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 128, HalfScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nf4, ByteDot, 64, SingleScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nf4, ByteDot, 64, NestedScaleCodes>>(),
                 coded_ops<typename Forms::template InBlocks<V, Fp4, ByteDot, 64, SingleScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Fp4, ByteDot, 64, NestedScaleCodes>>(),
                 coded_ops<typename Forms::template InRows<V, ByteDot, false>>(),
                 coded_ops<typename Forms::template InRows<V, ByteDot, true>>(),
                 e4m3_ops<E4m3Linear<V, true>>(),
                 e4m3_ops<E4m3Linear<V, false>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 32, PairedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 64, PairedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Bytes, ByteDot, 128, PairedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 32, PairedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 64, PairedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Nibbles, NibbleDot, 128, PairedScales>>(),
                 expanded_ops<BookExpander<V, Nf4Book, 64, SingleScales>>(),
                 expanded_ops<BookExpander<V, Nf4Book, 64, NestedScaleCodes>>(),
                 expanded_ops<BookExpander<V, Fp4Book, 64, SingleScales>>(),
                 expanded_ops<BookExpander<V, Fp4Book, 64, NestedScaleCodes>>(),
                 coded_ops<typename Forms::template InBlocks<V, Mxfp4, ByteDot, kMxBlock, SingleScales>>(),
                 expanded_ops<BookExpander<V, Mxfp4Book, kMxBlock, SingleScales>>(),
                 coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 16, SingleScales>>(),
                 coded_ops<typename Plain::template InBlocks<V, Nibbles, NibbleDot, 32, MinnedScales>>(),
                 coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 32, MinnedScales>>(),
                 coded_ops<typename Plain::template InBlocks<V, Nibbles, ByteDot, 16, MinnedScales>>(),
                 coded_ops<typename Plain::template InBlocks<V, Bytes, ByteDot, 16, MinnedScales>>(),
                 coded_ops<typename Forms::template InBlocks<V, Iq4, ByteDot, 32, SingleScales>>(),
                 linear_ops<E4m3InGroups<V, 128>>()},
      .norm = {rms_norm<V>, layer_norm<V>},
      .rope = rope<V>,
      .add = add<V>,
      .activate = {activate<V, Silu>, activate<V, Gelu>, activate<V, GeluTanh>, activate<V, Relu>, activate<V, ClampedSilu>},
      .scale = scale<V>,
      .clamp = clamp<V>,
      .soft_cap = soft_cap<V>,
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
