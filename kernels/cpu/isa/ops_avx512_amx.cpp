// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/isa/amx_bf16_linear.h"
#include "kernels/cpu/isa/amx_coded_linear.h"
#include "kernels/cpu/isa/dot_vnni.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/ops/table.h"

namespace lathe::kernels {
namespace {

constexpr LinearOps kBf16Ops = {.packed_row_bytes = AmxBf16Linear::row_bytes,
                                .pack_columns = 2 * kTilePairs,
                                .tile_panels = AmxBf16Linear::tile_panels,
                                .tiling = AmxBf16Linear::tiling,
                                .pack = AmxBf16Linear::pack,
                                .multiply = AmxBf16Linear::multiply};

/// Runs products on all sum tiles in turn. `multiply` gets the indices of three registers: sums, x, weights.
template <class Multiply>
double multiply_tiles(std::int64_t n_iterations, int products_of_element, const Multiply& multiply) {
  const TileSession session(kTileRows, kTileRowBytes, kSumTiles + 2);
  for_constants<kTileRegisters>([](auto tile) { tile_zero<tile.value>(); });
  // An iteration here does thirty times the work of a vector iteration, so fewer iterations are run.
  const std::int64_t n = n_iterations / 30 + 1;
  for (std::int64_t i = 0; i < n; ++i) {
    multiply(Constant<0>{}, Constant<4>{}, Constant<6>{});
    multiply(Constant<1>{}, Constant<4>{}, Constant<7>{});
    multiply(Constant<2>{}, Constant<5>{}, Constant<6>{});
    multiply(Constant<3>{}, Constant<5>{}, Constant<7>{});
  }
  return static_cast<double>(n) * kSumTiles * kTileRows * kPanelColumns * kTileRows * products_of_element * 2;
}

double bf16_dot(std::int64_t n_iterations) {
  return multiply_tiles(n_iterations, 2, [](auto sums, auto x, auto weights) __attribute__((always_inline)) {
    tile_dot_bf16<sums.value, x.value, weights.value>();
  });
}

double int8_dot(std::int64_t n_iterations) {
  return multiply_tiles(n_iterations, 4, [](auto sums, auto x, auto weights) __attribute__((always_inline)) {
    tile_dot_bytes<sums.value, x.value, weights.value>();
  });
}

consteval OpTable make_amx_table() {
  OpTable table = make_op_table<VecAvx512, VnniDot, VnniDot, AmxCodedLinear>();
  table.linear[static_cast<std::size_t>(WeightFormat::bf16)] = kBf16Ops;
  table.bf16_dot = bf16_dot;
  table.int8_dot = int8_dot;
  table.int4_dot = int8_dot;
  return table;
}

}  // namespace

constexpr OpTable kAvx512AmxOps = make_amx_table();

}  // namespace lathe::kernels
