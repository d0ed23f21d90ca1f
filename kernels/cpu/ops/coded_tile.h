// SPDX-License-Identifier: Apache-2.0
// Tile of coded weights: some rows of quantized activations times some panels of codes.
#pragma once

#include "kernels/cpu/ops/dot.h"
#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/element_types.h"

namespace lathe::kernels {
namespace {

/// Codes and scales that are prefetched into L1 while a tile computes: prefetched into L2 only, steps of 8 and 16 rows took
/// a sixth longer, and steps of 64 rows a twentieth (Zen 5, VNNI, int8 in groups of 32). Scales are a separate stream, too
/// short for the processor to detect: with prefetched scales, steps of 8 and 16 rows take 6 % less (Zen 4).
struct CodesAhead {
  const std::byte* from;    ///< codes of the first panel
  std::int64_t stride;      ///< stride from panel to panel
  std::int64_t n_lines;     ///< cache lines of a panel
  std::int64_t per_group;   ///< lines per group
  const std::byte* scales;  ///< scales of the first panel, as many as the tile reads; or null
};

/// out [rows, columns] (+)= x * weights over blocks of activations. Scale: F16, PairedF16 (weights with zero points),
/// MinnedF32 (weights with minimums) or float.
template <class Scale>
struct CodedTileArgs {
  const std::byte* x;          ///< the tile's rows in the first block
  std::int64_t x_block_bytes;  ///< stride from block to block
  const std::byte* codes;      ///< codes of the first panel
  std::int64_t codes_stride;   ///< stride from panel to panel
  const Scale* scales;         ///< scales of the first panel
  std::int64_t scales_stride;  ///< stride from panel to panel
  std::int64_t scales_step;    ///< stride from group to group
  std::int64_t n_groups;
  int group;  ///< k of a group: a divisor of kActivationBlock
  float* out;
  std::int64_t out_stride;
  std::int64_t n_columns;  ///< remaining columns of out
  bool continues;          ///< adds to the contents of out
  const float* bias;       ///< added at the end; or null
  CodesAhead ahead;
};

/// sums [row][vector] += products of one part of a quad.
template <class V, class C, class D, int kSecond, int kPart, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_part(typename V::Int (&sums)[kRows][kVectors], const std::byte* codes,
                                                 std::int64_t codes_stride, const std::byte* x) {
  constexpr int kPerPanel = kPanelColumns / V::kLanes;
  typename V::Int w[kVectors];
#pragma GCC unroll 64
  for (int j = 0; j < kVectors; ++j) {
    w[j] = C::template load<D, kSecond, kPart>(codes + j / kPerPanel * codes_stride, j % kPerPanel);
  }
#pragma GCC unroll 64
  for (int i = 0; i < kRows; ++i) {
    const auto quad = broadcast<V>(x + (kSecond * kRows + i) * D::kQuadBytes + kPart * kQuad);
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) D::add(sums[i][j], w[j], quad);
  }
}

/// Multiplies one part after the other, so that only the codes of one part are in registers.
template <class V, class C, class D, int kSecond, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_quad(typename V::Int (&sums)[kRows][kVectors], const std::byte* codes,
                                                 std::int64_t codes_stride, const std::byte* x) {
  multiply_part<V, C, D, kSecond, 0>(sums, codes, codes_stride, x);
  if constexpr (D::kParts == 2) multiply_part<V, C, D, kSecond, 1>(sums, codes, codes_stride, x);
}

/// acc [row][vector] += products of one group.
template <class V, class C, class D, int kRows, int kVectors>
[[gnu::always_inline]] inline void multiply_group(typename V::Int (&acc)[kRows][kVectors], const std::byte* codes,
                                                  std::int64_t codes_stride, const std::byte* x, int n_pairs) {
  using Int = typename V::Int;
  const auto multiply_pair = [&](Int(&sums)[kRows][kVectors]) __attribute__((always_inline)) {
    multiply_quad<V, C, D, 0>(sums, codes, codes_stride, x);
    multiply_quad<V, C, D, 1>(sums, codes, codes_stride, x);
    codes += C::kPairBytes;
    x += 2 * kRows * D::kQuadBytes;
  };
  if constexpr (D::kPairsToFold == 0) {
    for (int pair = 0; pair < n_pairs; ++pair) multiply_pair(acc);
  } else {
    for (int begin = 0; begin < n_pairs; begin += D::kPairsToFold) {
      Int sums[kRows][kVectors];
#pragma GCC unroll 64
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
        for (int j = 0; j < kVectors; ++j) sums[i][j] = V::zero_int();
      }
#pragma GCC unroll 8
      for (int pair = 0; pair < D::kPairsToFold; ++pair) multiply_pair(sums);
#pragma GCC unroll 64
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
        for (int j = 0; j < kVectors; ++j) acc[i][j] = V::add_int(acc[i][j], D::fold(sums[i][j]));
      }
    }
  }
}

template <class V, class Scale>
[[gnu::always_inline]] inline typename V::Float load_scales(const Scale* scales) {
  if constexpr (__is_same(Scale, MinnedF32)) {
    return V::load(&scales->value);
  } else {
    return V::load(scales);
  }
}

/// Adds block after block of activations and, within a block, group after group: in the same order for every tile.
template <class V, class C, class D, class Scale, int kRows, int kPanels>
[[gnu::noinline]] void multiply_coded_tile(const CodedTileArgs<Scale>& args) {
  constexpr int kPerPanel = kPanelColumns / V::kLanes;
  constexpr int kVectors = kPanels * kPerPanel;
  constexpr bool kHasZeros = __is_same(Scale, PairedF16), kHasMinimums = __is_same(Scale, MinnedF32);
  const CodedTileArgs<Scale> t = args;
  const int groups_of_block = kActivationBlock / t.group;
  const int n_pairs = t.group / (2 * kQuad);
  const std::byte* codes = t.codes;
  const Scale* scales = t.scales;
  const std::byte* x = t.x;
  // Sums of the output stay in memory, because the sums of a group and of a block take the registers. A tile reaches 82 % of
  // the peak, and 76 % when each block loaded and stored a part of out (Zen 4, VNNI, 6 rows of 8 blocks).
  alignas(kCacheLine) float sums[kRows][kVectors * V::kLanes];
  // Partial stores take tens of instructions on AVX2: with them, 16 and 64 rows took 3 to 4 % longer.
  const bool is_full = t.n_columns >= kVectors * V::kLanes;
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      const float* const before = t.out + i * t.out_stride + j * V::kLanes;
      const auto sum = !t.continues ? V::zero() : is_full ? V::load(before) : V::load_n(before, t.n_columns - j * V::kLanes);
      V::store(sums[i] + j * V::kLanes, sum);
    }
  }
  std::int64_t line = 0;
  for (std::int64_t group = 0; group < t.n_groups;) {
    const auto* x_scale = reinterpret_cast<const float*>(x);
    const auto* start = reinterpret_cast<const std::int32_t*>(x_scale + kRows);
    const auto* x_codes = reinterpret_cast<const std::byte*>(start + kRows * groups_of_block);
    typename V::Float part[kRows][kVectors];
#pragma GCC unroll 64
    for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) part[i][j] = V::zero();
    }
    const std::int64_t end = min_of(group + groups_of_block, t.n_groups);
    for (; group < end; ++group) {
      typename V::Int acc[kRows][kVectors];
#pragma GCC unroll 64
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
        for (int j = 0; j < kVectors; ++j) acc[i][j] = V::set_int(start[i]);
      }
      for (const std::int64_t last = min_of(line + t.ahead.per_group, t.ahead.n_lines); line < last; ++line) {
        for (int p = 0; p < kPanels; ++p) __builtin_prefetch(t.ahead.from + p * t.ahead.stride + line * kCacheLine, 0, 3);
      }
      if (t.ahead.scales != nullptr) {
        const std::int64_t read = (scales - t.scales) * static_cast<std::int64_t>(sizeof(Scale));
        for (int p = 0; p < kPanels; ++p) __builtin_prefetch(t.ahead.scales + p * t.ahead.stride + read, 0, 3);
      }
      multiply_group<V, C, D>(acc, codes, t.codes_stride, x_codes, n_pairs);
      codes += n_pairs * C::kPairBytes;
      x_codes += 2 * n_pairs * kRows * D::kQuadBytes;
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) {
        const Scale* const scales_of_vector = scales + j / kPerPanel * t.scales_stride + j % kPerPanel * V::kLanes;
        const auto scale = load_scales<V>(scales_of_vector);
        if constexpr (kHasZeros) {
          // (code - zero) x = (code - middle) x + start * (zero - middle) / middle: integers below 2^24, so exact.
          const auto offset = V::load(scales_of_vector + kPanelColumns);
#pragma GCC unroll 64
          for (int i = 0; i < kRows; ++i) {
            const auto sum = V::fma(V::set(static_cast<float>(start[i])), offset, V::to_float(acc[i][j]));
            V::accumulate(part[i][j], sum, scale);
          }
        } else if constexpr (kHasMinimums) {
          // code * scale + minimum = (code - middle) * scale + the weight of the middle code. start * offset is the latter
          // times the sum of x.
          const auto offset = load_scales<V>(scales_of_vector + kPanelColumns);
#pragma GCC unroll 64
          for (int i = 0; i < kRows; ++i) {
            V::accumulate(part[i][j], V::to_float(acc[i][j]), scale);
            V::accumulate(part[i][j], V::set(static_cast<float>(start[i])), offset);
          }
        } else {
#pragma GCC unroll 64
          for (int i = 0; i < kRows; ++i) V::accumulate(part[i][j], V::to_float(acc[i][j]), scale);
        }
      }
      scales += t.scales_step;
      start += kRows;
    }
#pragma GCC unroll 64
    for (int i = 0; i < kRows; ++i) {
      const auto row_scale = V::set(x_scale[i]);
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) {
        float* const sum = sums[i] + j * V::kLanes;
        V::store(sum, V::fma(part[i][j], row_scale, V::load(sum)));
      }
    }
    x += t.x_block_bytes;
  }
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      const std::int64_t n = t.n_columns - j * V::kLanes;
      float* const out = t.out + i * t.out_stride + j * V::kLanes;
      auto sum = V::load(sums[i] + j * V::kLanes);
      if (t.bias != nullptr) sum = V::add(sum, V::load_n(t.bias + j * V::kLanes, n));
      if (is_full) {
        V::store(out, sum);
      } else {
        V::store_n(out, sum, n);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::kernels
