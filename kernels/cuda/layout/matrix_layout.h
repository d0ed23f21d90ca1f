// SPDX-License-Identifier: Apache-2.0
// Layout of weights and of x in the memory of a CUDA device: the order in which its tensor cores take them, so that a thread
// reads 16 bytes that it needs itself, and the 32 threads of a warp read 512 consecutive bytes.
// Source: PTX ISA, "Matrix fragments for mma.m16n8k16".
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define LATHE_ON_BOTH __host__ __device__
#else
#define LATHE_ON_BOTH
#endif

namespace lathe::kernels::cuda {

inline constexpr int kTile = 16;       ///< outputs of one mma product
inline constexpr int kStep = 16;       ///< k of one mma product, called a step
inline constexpr int kRowTile = 8;     ///< rows of x of one mma product
inline constexpr int kQuad = 64;       ///< k of four steps: 16 bytes of 4-bit codes per thread. k is padded to a multiple
inline constexpr int kChunk = 256;     ///< k of the longest unit (MatrixLayout::unit)
inline constexpr int kPlainPad = 128;  ///< k of matrices in rows is padded to a multiple: 32 threads, 4 elements each
inline constexpr int kWarp = 32;

/// How weights are stored.
enum class Storage : std::uint8_t {
  rows_f32,  ///< [n][k]
  rows_f16,
  bf16,   ///< tiles
  code8,  ///< tiles of unsigned integers
  e4m3,   ///< tiles
  code4   ///< tiles of unsigned integers or of indices into a codebook
};

/// How the value of a code becomes a weight.
enum class ScaleKind : std::uint8_t {
  none,
  half,    ///< value * scale; scale in f16
  single,  ///< value * scale; scale in f32
  zero,    ///< (value - zero) * scale; both in f16
  minimum  ///< value * scale + minimum; both in f32
};

LATHE_ON_BOTH constexpr std::int64_t div_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
LATHE_ON_BOTH constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return div_up(a, b) * b; }

constexpr int scale_bytes(ScaleKind kind) {
  switch (kind) {
    case ScaleKind::none: return 0;
    case ScaleKind::half: return 2;
    case ScaleKind::single:
    case ScaleKind::zero: return 4;
    case ScaleKind::minimum: return 8;
  }
  return 0;
}

constexpr bool is_in_rows(Storage storage) { return storage == Storage::rows_f32 || storage == Storage::rows_f16; }

/// Index of element (row, k) among the 256 of a tile's step: 8 * its thread + its index in the thread.
LATHE_ON_BOTH constexpr std::int64_t place_in_step(std::int64_t row, std::int64_t k) {
  return (row % 8 * 4 + k % 8 / 2) * 8 + (k % 2 + 2 * (row / 8) + 4 * (k / 8));
}

/// The shape of a stored matrix.
struct MatrixLayout {
  std::int64_t n = 0, k = 0;
  Storage storage = Storage::bf16;
  ScaleKind scales = ScaleKind::none;
  std::int64_t group = 0;  ///< weights along k that share a scale: 16, 32, 64, ...; 0: the whole row

  LATHE_ON_BOTH constexpr std::int64_t padded_k() const {
    return round_up(k, storage == Storage::rows_f32 || storage == Storage::rows_f16 ? kPlainPad : kQuad);
  }
  LATHE_ON_BOTH constexpr std::int64_t n_tiles() const { return div_up(n, kTile); }
  LATHE_ON_BOTH constexpr std::int64_t n_steps() const { return padded_k() / kStep; }
  LATHE_ON_BOTH constexpr std::int64_t n_groups() const { return group == 0 ? 1 : div_up(padded_k(), group); }
  /// k of one unit, whose products are summed separately; the sums of units are scaled and added in order. A unit is a group
  /// of codes or kChunk, so it has one scale.
  LATHE_ON_BOTH constexpr std::int64_t unit() const {
    return storage == Storage::bf16 || group == 0 || group > kChunk ? kChunk : group;
  }
  LATHE_ON_BOTH constexpr std::int64_t n_units() const { return div_up(padded_k(), unit()); }

  /// Index of weight (row, at). Requires: a matrix in tiles. Units: bf16 elements, bytes of 8-bit codes, or half bytes of
  /// 4-bit codes.
  LATHE_ON_BOTH constexpr std::int64_t place(std::int64_t row, std::int64_t at) const {
    const std::int64_t tile = row / kTile, step = at / kStep;
    const std::int64_t inner = place_in_step(row % kTile, at % kStep), thread = inner / 8, j = inner % 8;
    if (storage == Storage::bf16) return (tile * n_steps() + step) * 256 + inner;
    if (storage == Storage::code4) {
      // A step's eight codes fill 32 bits; codes j and j + 1 (j even) are 16 bits apart, so that one mask yields both.
      return ((tile * (n_steps() / 4) + step / 4) * kWarp + thread) * 32 + step % 4 * 8 + j / 2 + j % 2 * 4;
    }
    return ((tile * (n_steps() / 2) + step / 2) * kWarp + thread) * 16 + step % 2 * 8 + j;
  }
  /// Index of the scale of group g of a row. Units: scales. Scales of rows r and r + 8 of a tile are adjacent.
  LATHE_ON_BOTH constexpr std::int64_t scale_place(std::int64_t row, std::int64_t g) const {
    return ((row / kTile * n_groups() + g) * 8 + row % 8) * 2 + row % kTile / 8;
  }

  constexpr std::int64_t weight_bytes() const {
    const std::int64_t padded = (is_in_rows(storage) ? n : n_tiles() * kTile) * padded_k();
    switch (storage) {
      case Storage::rows_f32: return padded * 4;
      case Storage::rows_f16:
      case Storage::bf16: return padded * 2;
      case Storage::code8:
      case Storage::e4m3: return padded;
      case Storage::code4: return padded / 2;
    }
    return 0;
  }
  /// Units: bytes of the scales, which are stored after the weights.
  constexpr std::int64_t scales_bytes() const { return n_tiles() * n_groups() * kTile * scale_bytes(scales); }
  constexpr std::int64_t n_bytes() const { return weight_bytes() + scales_bytes(); }
};

/// Index of element (row, k) of x in bf16. Layout: [tile of 8 rows][step][thread][4].
LATHE_ON_BOTH constexpr std::int64_t x_place(std::int64_t row, std::int64_t k, std::int64_t n_steps) {
  const std::int64_t inner = k % kStep;
  const std::int64_t thread = row % kRowTile * 4 + inner % 8 / 2;
  return ((row / kRowTile * n_steps + k / kStep) * kWarp + thread) * 4 + inner % 2 + 2 * (inner / 8);
}

inline constexpr int kBlockBytes = kRowTile * kQuad * 2;  ///< 8 rows of x and 64 k in bf16

/// Index of element (row, k) of x in bf16 for wgmma. Layout: [64 k][tile of 8 rows][row][16-byte vector of 8 k], where
/// vector v of row r is at v xor r, as the 128-byte swizzle of a matrix in shared memory requires. So the 64 k of many rows
/// are adjacent, and tensor cores read 8 rows of a vector without bank conflicts. Source: PTX ISA, "Strides" and "Swizzling
/// modes" of asynchronous warpgroup level matrices.
LATHE_ON_BOTH constexpr std::int64_t x_block_place(std::int64_t row, std::int64_t k, std::int64_t n_row_tiles) {
  const std::int64_t r = row % kRowTile, v = k % kQuad / 8;
  return ((k / kQuad * n_row_tiles + row / kRowTile) * kRowTile + r) * kQuad + (v ^ r) * 8 + k % 8;
}

/// Units of 64 k of which a layout has the sums of x adjacent: at least one.
LATHE_ON_BOTH constexpr std::int64_t units_of_quad(std::int64_t unit) { return unit < kQuad ? kQuad / unit : 1; }
/// Index of the sum of x over one unit of a row. Layout: [64 k or a longer unit][tile of 8 rows][unit][row].
LATHE_ON_BOTH constexpr std::int64_t unit_sum_place(std::int64_t row, std::int64_t unit, std::int64_t n_of_quad,
                                                    std::int64_t n_row_tiles) {
  return ((unit / n_of_quad * n_row_tiles + row / kRowTile) * n_of_quad + unit % n_of_quad) * kRowTile + row % kRowTile;
}

}  // namespace lathe::kernels::cuda
