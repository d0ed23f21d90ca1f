// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/bf16_rows.h"
#include "kernels/cpu/isa/dot_vnni.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/isa/vec_avx512.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {
namespace {

using V = VecAvx512;

/// acc += x0 w0 + x1 w1 with x and w in bf16, 16 outputs per instruction.
struct DotBf16 {
  using V = VecAvx512;
  static constexpr int kPairBytes = kPairWeights * static_cast<int>(sizeof(Bf16));
  static constexpr bool kExpands = false;
  static constexpr bool kIsScaled = false;

  template <int kRows, int kVectors>
  [[gnu::always_inline]] static void step(__m512 (&acc)[kRows][kVectors], const TileArgs& t, std::int64_t pair) {
    __m512bh w[kVectors];
#pragma GCC unroll 64
    for (int j = 0; j < kVectors; ++j) {
      w[j] = reinterpret_cast<__m512bh>(_mm512_loadu_si512(t.weights + j * t.panel_bytes + pair * kPairBytes));
    }
    const int* x = static_cast<const int*>(t.x) + pair * kRows;
#pragma GCC unroll 64
    for (int i = 0; i < kRows; ++i) {
      const auto both = reinterpret_cast<__m512bh>(_mm512_set1_epi32(x[i]));
#pragma GCC unroll 64
      for (int j = 0; j < kVectors; ++j) acc[i][j] = _mm512_dpbf16_ps(acc[i][j], both, w[j]);
    }
  }
};

/// Rounds x [n] to pairs of bf16, the last padded with 0. Pairs are passed as the bits of a float, with which nothing
/// computes.
void round_row(const float* x, std::int64_t n, float* pairs) {
  for (std::int64_t i = 0; i < n; i += 2 * V::kLanes) {
    V::store_n(pairs + i / 2, reinterpret_cast<__m512>(rounded_pairs(x + i, n - i)), div_up(n - i, 2));
  }
}

struct Bf16Linear {
  using V = VecAvx512;
  using Direct = DotBf16;
  static constexpr int kPackedPairBytes = 2 * sizeof(Bf16);
  static constexpr std::int64_t kMinTilesToExpand = kNeverExpand;

  static constexpr LinearTiling tiling(std::int64_t n_rows) {
    return {.rows = tiling_of<V>(n_rows, max_tile_rows<V>()), .block_pairs = kBlockPairs};
  }

  static void pack(const PackedRows& packed, const PackArgs& args) {
    for_parts(packed, args, kPackedPairBytes, [](const PackPart& part, std::byte* to) {
      float rounded[max_tile_rows<V>()][kBlockPairs];
      for (std::int64_t r = 0; r < part.n_rows; ++r) round_row(part.x + r * part.x_stride, part.n, rounded[r]);
      pack_rows_as_columns(rounded[0], kBlockPairs, part.n_rows, div_up(part.n, 2), reinterpret_cast<float*>(to));
    });
  }
};

double bf16_dot(std::int64_t n_iterations) {
  constexpr int kChains = 12;
  volatile int start = 0x3f803f80;
  const auto x = reinterpret_cast<__m512bh>(_mm512_set1_epi32(start));
  __m512 acc[kChains];
#pragma GCC unroll 12
  for (int c = 0; c < kChains; ++c) acc[c] = _mm512_set1_ps(static_cast<float>(c));
  for (std::int64_t i = 0; i < n_iterations; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) acc[c] = _mm512_dpbf16_ps(acc[c], x, x);
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) acc[0] = _mm512_add_ps(acc[0], acc[c]);
  volatile float sink = V::sum(acc[0]);
  static_cast<void>(sink);
  return static_cast<double>(n_iterations) * kChains * V::kLanes * 2 * 2;
}

consteval OpTable make_bf16_table() {
  OpTable table = make_op_table<VecAvx512, VnniDot, VnniDot>();
  table.linear[static_cast<std::size_t>(WeightFormat::bf16)] = linear_ops<Bf16Linear>();
  table.bf16_dot = bf16_dot;
  return table;
}

}  // namespace

constexpr OpTable kAvx512Bf16Ops = make_bf16_table();

}  // namespace lathe::kernels
