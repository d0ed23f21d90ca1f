// SPDX-License-Identifier: Apache-2.0
// Tile registers of AMX: eight matrices of 16 rows of 64 bytes, and products of two matrices that are added to a third. Only
// for files compiled for AMX.
// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::kernels {
namespace {

inline constexpr int kTileRegisters = 8;
inline constexpr int kTileRows = 16;
/// Bytes of a row.
inline constexpr int kTileRowBytes = 64;
inline constexpr int kTileBytes = kTileRows * kTileRowBytes;

/// Number of registers that hold sums, the first four. The others hold x, [row][x_bytes], and weights, [x_bytes / 4][16
/// columns][4 bytes].
inline constexpr int kSumTiles = 4;

/// Configures the tile registers of the thread and releases them at the end: switching away from a thread takes longer while
/// it uses tiles.
class TileSession {
 public:
  /// Registers [kSumTiles, first_weights) hold x, registers from first_weights on hold weights. Requires: x_bytes is a
  /// multiple of 4.
  TileSession(int n_rows, int x_bytes, int first_weights) {
    Layout layout{};
    layout.palette = 1;
    for (int tile = 0; tile < kTileRegisters; ++tile) {
      const bool is_x = tile >= kSumTiles && tile < first_weights;
      layout.row_bytes[tile] = static_cast<std::uint16_t>(is_x ? x_bytes : kTileRowBytes);
      layout.n_rows[tile] = static_cast<std::uint8_t>(tile < first_weights ? n_rows : x_bytes / 4);
    }
    asm volatile("ldtilecfg %0" ::"m"(layout));
  }
  ~TileSession() { asm volatile("tilerelease"); }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;

 private:
  struct alignas(kTileRowBytes) Layout {
    std::uint8_t palette;
    std::uint8_t start_row;
    std::uint8_t reserved[14];
    std::uint16_t row_bytes[16];
    std::uint8_t n_rows[16];
  };
};

/// Loads a tile from kOffset bytes after first_row. kOffset is part of the instruction and needs no register.
template <int kTile, int kOffset = 0>
[[gnu::always_inline]] inline void tile_load(const void* first_row, std::int64_t stride) {
  asm volatile("tileloadd %c3(%0,%1,1), %%tmm%c2" ::"r"(first_row), "r"(stride), "n"(kTile), "n"(kOffset) : "memory");
}
template <int kTile, int kOffset = 0>
[[gnu::always_inline]] inline void tile_store(void* first_row, std::int64_t stride) {
  asm volatile("tilestored %%tmm%c2, %c3(%0,%1,1)" ::"r"(first_row), "r"(stride), "n"(kTile), "n"(kOffset) : "memory");
}
template <int kTile>
[[gnu::always_inline]] inline void tile_zero() {
  asm volatile("tilezero %%tmm%c0" ::"n"(kTile));
}
/// sums += x * weights, four products of signed bytes at a time, in 32 bits.
template <int kSums, int kX, int kWeights>
[[gnu::always_inline]] inline void tile_dot_bytes() {
  asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(kSums), "n"(kX), "n"(kWeights));
}
/// Like tile_dot_bytes(), with unsigned weights.
template <int kSums, int kX, int kWeights>
[[gnu::always_inline]] inline void tile_dot_unsigned() {
  asm volatile("tdpbsud %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(kSums), "n"(kX), "n"(kWeights));
}
/// sums += x * weights in bf16: even and odd k are summed separately, in f32, before they are added to sums.
template <int kSums, int kX, int kWeights>
[[gnu::always_inline]] inline void tile_dot_bf16() {
  asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"n"(kSums), "n"(kX), "n"(kWeights));
}

}  // namespace
}  // namespace lathe::kernels
