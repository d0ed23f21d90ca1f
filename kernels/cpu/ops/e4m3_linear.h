// SPDX-License-Identifier: Apache-2.0
// linear() for weights in e4m3: tiles of floats sum the products of codes, and the outputs are scaled at the end.
// Activations stay as they are, or are rounded to e4m3 with one scale per row. Invariant: as in linear.h.
#pragma once

#include "kernels/cpu/ops/activation_codes.h"
#include "kernels/cpu/ops/linear.h"
#include "kernels/cpu/table/coded_layout.h"

namespace lathe::kernels {
namespace {

constexpr int kLargestE4m3 = 448;

/// Rounds to the nearest e4m3 value, ties to even. Requires: |x| is at most 448, apart from rounding errors.
inline float nearest_e4m3(float x) {
  constexpr std::uint32_t kSign = 0x80000000U;
  constexpr int kDropped = 20;  // fraction bits that are dropped
  constexpr float kSmallestNormal = 0x1p-6F;
  constexpr float kShift = 0x1p14F;  // its last bit is 2^-9, the smallest subnormal
  std::uint32_t bits = 0;
  __builtin_memcpy(&bits, &x, sizeof bits);
  const std::uint32_t sign = bits & kSign;
  bits &= ~kSign;
  float magnitude = 0;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  const float small = (magnitude + kShift) - kShift;
  std::uint32_t rounded = bits + (1U << (kDropped - 1)) - 1 + (bits >> kDropped & 1U);
  rounded &= ~((1U << kDropped) - 1);
  float normal = 0;
  __builtin_memcpy(&normal, &rounded, sizeof normal);
  const float nearest = magnitude < kSmallestNormal ? small : normal;
  __builtin_memcpy(&bits, &nearest, sizeof bits);
  bits |= sign;
  __builtin_memcpy(&magnitude, &bits, sizeof magnitude);
  return magnitude;
}

inline void round_to_e4m3(const float* x, std::int64_t n, float to_code, float* out) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = to_code == 0 ? 0 : nearest_e4m3(x[i] * to_code);
}

// Least number of tiles that share a widened copy: widening e4m3 takes more instructions than shifting bf16, so two tiles
// suffice.
constexpr std::int64_t kMinTilesToWiden = 2;

/// linear() for e4m3 with one scale per group: scales are applied to the weights, and products are summed as in formats
/// without codes.
template <class V, int kGroup>
using E4m3InGroups = FmaLinear<V, ScaledWeights<V, RawE4m3, kGroup>, kMinTilesToWiden>;

/// linear() for e4m3 with one scale per output; kRounds: rows of x are rounded to e4m3.
template <class Vec, bool kRounds>
struct E4m3Linear {
  using V = Vec;
  using Sums = FmaLinear<V, SplitWeights<V, RawE4m3>, kMinTilesToWiden>;
  static constexpr std::int64_t kPackColumns = kRounds ? kWholeRows : kPair;

  static std::int64_t row_bytes(std::int64_t k) { return sum_bytes(k) + (kRounds ? kRoundingBytes : 0); }

  /// Requires: args begin with the row if rows are rounded.
  static void pack(const PackedRows& packed, const PackArgs& args) {
    if constexpr (!kRounds) {
      Sums::pack(packed, args);
    } else {
      const std::int64_t first = first_row(packed.tiling, args.tile_begin);
      for (std::int64_t row = first; row < first_row(packed.tiling, args.tile_end); ++row) {
        rounding_at(packed, row) = rounding_of<V, false, kLargestE4m3>(args.x + (row - first) * args.x_stride, packed.k);
      }
      for_parts(packed, args, Sums::kPackedPairBytes, [&](const PackPart& part, std::byte* to) {
        float rounded[max_tile_rows<V>() * kPartColumns];
        for (std::int64_t r = 0; r < part.n_rows; ++r) {
          round_to_e4m3(part.x + r * part.x_stride, part.n, rounding_at(packed, part.row + r).to_code,
                        rounded + r * kPartColumns);
        }
        Sums::pack_part({.x = rounded, .x_stride = kPartColumns, .row = part.row, .n_rows = part.n_rows, .n = part.n}, to);
      });
    }
  }

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    LinearArgs sums = args;
    sums.bias = nullptr;
    kernels::multiply<Sums>(sums, range, scratch);
    const std::int64_t end = first_row(args.x.tiling, range.tile_end);
    for (std::int64_t row = first_row(args.x.tiling, range.tile_begin); row < end; ++row) scale_row(args, range, row);
  }

 private:
  static constexpr std::int64_t kPartColumns = std::int64_t{2} * kBlockPairs;
  static constexpr std::int64_t kRoundingBytes = sizeof(Rounding);

  static std::int64_t sum_bytes(std::int64_t k) { return div_up(k, kPair) * Sums::kPackedPairBytes; }

  /// Rounding of a row, stored after all packed rows.
  static Rounding& rounding_at(const PackedRows& packed, std::int64_t row) {
    std::byte* const first = static_cast<std::byte*>(packed.data) + packed.tiling.n_rows * sum_bytes(packed.k);
    return reinterpret_cast<Rounding*>(first)[row];
  }

  static void scale_row(const LinearArgs& args, const LinearRange& range, std::int64_t row) {
    const CodedPanel shape{.k = args.x.k, .bits = 8, .group = kPair, .scales = ScaleLayout::channel};
    const auto x_scale = V::set(kRounds ? rounding_at(args.x, row).scale : 1.0F);
    for (std::int64_t panel = range.panel_begin; panel < range.panel_end; ++panel) {
      const std::byte* const codes = args.weights + panel * args.panel_bytes;
      const auto* const scales = reinterpret_cast<const float*>(codes + shape.codes_bytes());
      float* const out = args.out + (row - args.out_row) * args.out_stride + (panel - args.out_panel) * kPanelColumns;
      for (int j = 0; j < kPanelColumns; j += V::kLanes) {
        const std::int64_t n = args.n - panel * kPanelColumns - j;
        auto sum = V::mul(V::load_n(out + j, n), V::load(scales + j));
        if constexpr (kRounds) sum = V::mul(sum, x_scale);
        if (args.bias != nullptr) sum = V::add(sum, V::load_n(args.bias + panel * kPanelColumns + j, n));
        V::store_n(out + j, sum, n);
      }
    }
  }
};

template <class L>
constexpr LinearOps e4m3_ops() {
  return {.packed_row_bytes = L::row_bytes,
          .pack_columns = L::kPackColumns,
          .tile_panels = panels_for<typename L::V>,
          .tiling = L::Sums::tiling,
          .pack = L::pack,
          .multiply = L::multiply};
}

}  // namespace
}  // namespace lathe::kernels
