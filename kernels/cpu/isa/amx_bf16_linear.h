// SPDX-License-Identifier: Apache-2.0
// linear() for bf16 weights with AMX, for any number of rows. Only for files compiled for AMX.
// Invariant: each output is one chain of additions, 32 of k at a time, whatever tile it falls in; blocks of k continue the
// chain through the output.
#pragma once

#include "kernels/cpu/isa/bf16_rows.h"
#include "kernels/cpu/isa/tile_registers.h"
#include "kernels/cpu/ops/linear.h"

// If the header is compiled alone, without the instruction set, these functions are never called.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"

namespace lathe::kernels {
namespace {

constexpr std::int64_t kBf16PairBytes = 2 * sizeof(Bf16);
/// Pairs of k in one product of tiles.
constexpr std::int64_t kTilePairs = kTileRowBytes / kBf16PairBytes;
/// Number of products by which x is prefetched into L1 before it is loaded: a load into a tile waits for the products before
/// it.
constexpr std::int64_t kProductsAhead = 2;
constexpr int kTileFloats = kTileRows * kPanelColumns;

/// One or two tiles of rows times some panels over a block of k.
struct AmxBf16Args {
  const std::byte* x[2];     ///< per tile of rows: [product][row][kTilePairs][2]
  std::int64_t x_bytes[2];   ///< stride from product to product
  const std::byte* weights;  ///< first panel: [pair][16][2]
  std::int64_t panel_bytes;  ///< stride from panel to panel
  std::int64_t n_products;   ///< products of kTilePairs pairs each
  const std::byte* tail;     ///< [panel][kTilePairs][16][2], for one more product; or null
  float* sums[2];            ///< per tile of rows: [row][panel][16]
  std::int64_t sums_stride;  ///< stride from row to row
  bool continues;            ///< adds to the contents of sums
  const std::byte* ahead;    ///< next weights of the first panel, prefetched into L2 during the products
  std::int64_t n_ahead;      ///< cache lines of each panel that are prefetched per product
};

template <int kIndex>
struct Constant {
  static constexpr int value = kIndex;
};

/// Calls body(Constant<0>), body(Constant<1>)...: register indices are constants of the instruction.
template <int kEnd, int kBegin = 0, class Body>
[[gnu::always_inline]] inline void for_constants(const Body& body) {
  if constexpr (kBegin < kEnd) {
    body(Constant<kBegin>{});
    for_constants<kEnd, kBegin + 1>(body);
  }
}

/// Keeps all sums in tile registers from the first product to the last. With two tiles of rows each load of weights serves
/// two products.
template <int kRowTiles, int kPanels>
[[gnu::noinline]] void multiply_amx_bf16(const AmxBf16Args& args) {
  static_assert(kRowTiles * kPanels <= kSumTiles);
  const AmxBf16Args t = args;
  const auto sums_stride = t.sums_stride * static_cast<std::int64_t>(sizeof(float));
  const auto for_sums = [](const auto& body) __attribute__((always_inline)) {
    for_constants<kRowTiles>([&](auto i) __attribute__((always_inline)) {
      for_constants<kPanels>([&](auto j) __attribute__((always_inline)) { body(i, j); });
    });
  };
  const auto multiply = [&](std::int64_t product, const std::byte* weights, std::int64_t stride)
                            __attribute__((always_inline)) {
                              for_constants<kRowTiles>([&](auto i) __attribute__((always_inline)) {
                                tile_load<kSumTiles + i.value>(t.x[i.value] + product * t.x_bytes[i.value], kTileRowBytes);
                              });
                              for_constants<kPanels>([&](auto j) __attribute__((always_inline)) {
                                constexpr int kWeights = kSumTiles + 2 + j.value % 2;
                                tile_load<kWeights>(weights + j.value * stride, kTileRowBytes);
                                for_constants<kRowTiles>([&](auto i) __attribute__((always_inline)) {
                                  tile_dot_bf16<i.value * kPanels + j.value, kSumTiles + i.value, kWeights>();
                                });
                              });
                            };
  for_sums([&](auto i, auto j) __attribute__((always_inline)) {
    constexpr int kTile = i.value * kPanels + j.value;
    if (t.continues) {
      tile_load<kTile>(t.sums[i.value] + j.value * kPanelColumns, sums_stride);
    } else {
      tile_zero<kTile>();
    }
  });
  const std::byte* ahead = t.ahead;
  for (std::int64_t product = 0; product < t.n_products; ++product) {
    for (std::int64_t line = 0; line < t.n_ahead; ++line, ahead += kCacheLine) {
      for (int p = 0; p < kPanels; ++p) __builtin_prefetch(ahead + p * t.panel_bytes, 0, 2);
    }
    if constexpr (kRowTiles == 2) {
      for (int line = 0; line < kTileRows; ++line) {
        for (int i = 0; i < kRowTiles; ++i) {
          __builtin_prefetch(t.x[i] + (product + kProductsAhead) * t.x_bytes[i] + line * kTileRowBytes);
        }
      }
    }
    multiply(product, t.weights + product * kTileBytes, t.panel_bytes);
  }
  if (t.tail != nullptr) multiply(t.n_products, t.tail, kTileBytes);
  for_sums([&](auto i, auto j) __attribute__((always_inline)) {
    tile_store<i.value * kPanels + j.value>(t.sums[i.value] + j.value * kPanelColumns, sums_stride);
  });
}

/// linear() for LinearOps. Layout of packed rows: [block of pairs][tile][product][row][kTilePairs], the last block padded to
/// whole products.
struct AmxBf16Linear {
  using V = VecAvx512;
  /// Pairs of k in a block, which all tiles of rows take before the next block: two panels and two tiles of rows of it are
  /// 32 KB of L1.
  static constexpr std::int64_t kPairsOfBlock = kBlockPairs;
  /// Bytes of x that may be read again for every two panels: a quarter of L2.
  static constexpr std::int64_t kMaxWholeX = std::int64_t{512} << 10;
  static constexpr std::int64_t kWholeRow = std::int64_t{1} << 40;

  static std::int64_t padded_pairs(std::int64_t k) { return div_up(div_up(k, 2), kTilePairs) * kTilePairs; }
  static std::int64_t row_bytes(std::int64_t k) { return padded_pairs(k) * kBf16PairBytes; }
  static int tile_panels(int) { return kMaxPanels; }

  static LinearTiling tiling(std::int64_t n_rows) {
    return {.rows = {.n_rows = n_rows, .n_tiles = div_up(n_rows, kTileRows)},
            .block_pairs = n_rows <= kTileRows ? kWholeRow : kPairsOfBlock};
  }

  /// Requires: args begin with a product.
  static void pack(const PackedRows& packed, const PackArgs& args) {
    const std::int64_t first = first_row(packed.tiling, args.tile_begin);
    for (std::int64_t tile = args.tile_begin; tile < args.tile_end; ++tile) {
      const std::int64_t n_rows = rows_of(packed.tiling, tile);
      const float* const x = args.x + (first_row(packed.tiling, tile) - first) * args.x_stride;
      for (std::int64_t pair = args.pair_begin; pair < args.pair_end; pair += kTilePairs) {
        const std::int64_t block = pair - pair % packed.block_pairs;
        std::byte* const out = tile_at(packed, block, tile) + (pair - block) * n_rows * kBf16PairBytes;
        const std::int64_t n = min_of(2 * args.pair_end, packed.k) - 2 * pair;
        for (std::int64_t row = 0; row < n_rows; ++row) {
          const float* const from = x + row * args.x_stride + 2 * (pair - args.pair_begin);
          V::store_int(out + row * kTileRowBytes, rounded_pairs(from, n));
        }
      }
    }
  }

  static void multiply(const LinearArgs& args, const LinearRange& range, float* scratch) {
    const std::int64_t n_tiles = range.tile_end - range.tile_begin;
    const TileSession session(static_cast<int>(widest(args.x.tiling)), kTileRowBytes, kSumTiles + 2);
    const std::int64_t n_pairs = div_up(args.x.k, 2);
    const std::int64_t block_pairs = min_of(args.x.block_pairs, n_pairs);
    const std::int64_t together = n_tiles == 1 ? 4 : 2;
    // A small x stays in L2 as a whole. Of a large x only one block of k stays in L2: it is multiplied with all panels
    // before the next block.
    const std::int64_t x_bytes = n_tiles * kTileRows * row_bytes(args.x.k);
    const std::int64_t stretch = x_bytes > kMaxWholeX ? range.panel_end - range.panel_begin : together;
    for (std::int64_t begin = range.panel_begin; begin < range.panel_end; begin += stretch) {
      const std::int64_t end = min_of(begin + stretch, range.panel_end);
      for (std::int64_t pair = 0; pair < n_pairs; pair += block_pairs) {
        for (std::int64_t panel = begin; panel < end; panel += together) {
          const std::byte* const next = panel + together < end         ? weights_at(args, panel + together, pair)
                                        : pair + block_pairs < n_pairs ? weights_at(args, begin, pair + block_pairs)
                                        : end < range.panel_end        ? weights_at(args, end, 0)
                                                                       : args.next_weights;
          multiply_part(args, range,
                        {.panel = panel,
                         .n_panels = min_of(together, end - panel),
                         .pair = pair,
                         .n_pairs = min_of(block_pairs, n_pairs - pair),
                         .next = next},
                        scratch);
        }
      }
    }
  }

 private:
  struct Part {
    std::int64_t panel, n_panels, pair, n_pairs;
    const std::byte* next;  ///< weights of the first panel of the next part, or null
  };

  static std::int64_t widest(const RowTiling& tiling) { return div_up(tiling.n_rows, tiling.n_tiles); }

  static std::int64_t pairs_of_block(const PackedRows& packed, std::int64_t block) {
    return min_of(packed.block_pairs, padded_pairs(packed.k) - block);
  }
  static std::byte* tile_at(const PackedRows& packed, std::int64_t block, std::int64_t tile) {
    const std::int64_t row = first_row(packed.tiling, tile);
    return static_cast<std::byte*>(packed.data) +
           (block * packed.tiling.n_rows + row * pairs_of_block(packed, block)) * kBf16PairBytes;
  }
  static const std::byte* weights_at(const LinearArgs& args, std::int64_t panel, std::int64_t pair) {
    return args.weights + panel * args.panel_bytes + pair * kPairWeights * static_cast<std::int64_t>(sizeof(Bf16));
  }

  /// Copies the pairs of the panels after the last whole product, padded with zeros.
  static const std::byte* copy_tail(const LinearArgs& args, const Part& part, float* scratch) {
    auto* const tail = reinterpret_cast<std::byte*>(scratch);
    const std::int64_t n_whole = part.n_pairs / kTilePairs * kTilePairs;
    const std::int64_t n_bytes = (part.n_pairs - n_whole) * kTileRowBytes;
    if (n_bytes == 0) return nullptr;
    for (std::int64_t p = 0; p < part.n_panels; ++p) {
      const std::byte* const from = weights_at(args, part.panel + p, part.pair + n_whole);
      __builtin_memcpy(tail + p * kTileBytes, from, static_cast<std::size_t>(n_bytes));
      __builtin_memset(tail + p * kTileBytes + n_bytes, 0, static_cast<std::size_t>(kTileBytes - n_bytes));
    }
    return tail;
  }

  static void multiply_part(const LinearArgs& args, const LinearRange& range, const Part& part, float* scratch) {
    const std::int64_t n_tiles = range.tile_end - range.tile_begin;
    const std::int64_t column = part.panel * kPanelColumns;
    const bool is_last = part.pair + part.n_pairs == div_up(args.x.k, 2);
    AmxBf16Args t{.x = {},
                  .x_bytes = {},
                  .weights = weights_at(args, part.panel, part.pair),
                  .panel_bytes = args.panel_bytes,
                  .n_products = part.n_pairs / kTilePairs,
                  .tail = copy_tail(args, part, scratch),
                  .sums = {},
                  .sums_stride = args.out_stride,
                  .continues = part.pair > 0,
                  .ahead = part.next,
                  .n_ahead = 0};
    // Each pair of tiles prefetches its share of the next weights.
    const std::int64_t n_calls = div_up(n_tiles, 2);
    if (part.next != nullptr && t.n_products > 0) t.n_ahead = div_up(part.n_pairs, t.n_products * n_calls);
    for (std::int64_t tile = range.tile_begin; tile < range.tile_end; tile += 2) {
      const std::int64_t n_together = min_of(2, range.tile_end - tile);
      Outputs outputs{.n_columns = min_of(args.n - column, part.n_panels * kPanelColumns),
                      .bias = args.bias != nullptr && is_last ? args.bias + column : nullptr,
                      .room = scratch + kMaxPanels * kTileFloats,
                      .rows = {},
                      .n_rows = {}};
      for (std::int64_t i = 0; i < n_together; ++i) {
        const std::int64_t row = first_row(args.x.tiling, tile + i);
        t.x[i] = tile_at(args.x, part.pair, tile + i);
        t.x_bytes[i] = rows_of(args.x.tiling, tile + i) * kTileRowBytes;
        outputs.rows[i] = args.out + column - args.out_panel * kPanelColumns + (row - args.out_row) * args.out_stride;
        outputs.n_rows[i] = rows_of(args.x.tiling, tile + i);
      }
      multiply_tiles(t, outputs, n_together, part.n_panels, widest(args.x.tiling));
      t.ahead += t.n_products * t.n_ahead * kCacheLine;
    }
  }

  struct Outputs {
    std::int64_t n_columns;
    const float* bias;  ///< or null
    float* room;        ///< work space for tiles that reach beyond the output
    float* rows[2];     ///< first output row of each tile
    std::int64_t n_rows[2];
  };

  /// Writes tiles directly to the output, or through `room` if they are not whole.
  static void multiply_tiles(AmxBf16Args& t, const Outputs& out, std::int64_t n_tiles, std::int64_t n_panels,
                             std::int64_t tile_rows) {
    const std::int64_t out_stride = t.sums_stride;
    bool is_whole = out.n_columns == n_panels * kPanelColumns;
    for (std::int64_t i = 0; i < n_tiles; ++i) is_whole = is_whole && out.n_rows[i] == tile_rows;
    const std::int64_t width = n_panels * kPanelColumns;
    for (std::int64_t i = 0; i < n_tiles; ++i) t.sums[i] = is_whole ? out.rows[i] : out.room + i * kTileRows * width;
    if (!is_whole) {
      t.sums_stride = width;
      if (t.continues)
        copy_rows(t, out, n_tiles, out_stride,
                  [](float* room, float* row, std::int64_t n) { V::store(room, V::load_n(row, n)); });
    }
    kFunctions[n_tiles - 1][n_panels - 1](t);
    if (!is_whole) {
      copy_rows(t, out, n_tiles, out_stride,
                [](float* room, float* row, std::int64_t n) { V::store_n(row, V::load(room), n); });
    }
    t.sums_stride = out_stride;
    if (out.bias != nullptr) add_bias(out, n_tiles, out_stride);
  }

  template <class Copy>
  static void copy_rows(const AmxBf16Args& t, const Outputs& out, std::int64_t n_tiles, std::int64_t out_stride,
                        const Copy& copy) {
    for (std::int64_t i = 0; i < n_tiles; ++i) {
      for (std::int64_t r = 0; r < out.n_rows[i]; ++r) {
        for (std::int64_t c = 0; c < out.n_columns; c += V::kLanes) {
          copy(t.sums[i] + r * t.sums_stride + c, out.rows[i] + r * out_stride + c, out.n_columns - c);
        }
      }
    }
  }

  static void add_bias(const Outputs& out, std::int64_t n_tiles, std::int64_t out_stride) {
    for (std::int64_t i = 0; i < n_tiles; ++i) {
      for (std::int64_t r = 0; r < out.n_rows[i]; ++r) {
        for (std::int64_t c = 0; c < out.n_columns; c += V::kLanes) {
          float* const sum = out.rows[i] + r * out_stride + c;
          const std::int64_t n = out.n_columns - c;
          V::store_n(sum, V::add(V::load_n(sum, n), V::load_n(out.bias + c, n)), n);
        }
      }
    }
  }

  using Function = void (*)(const AmxBf16Args&);
  static constexpr Function kFunctions[2][kMaxPanels] = {
      {multiply_amx_bf16<1, 1>, multiply_amx_bf16<1, 2>, multiply_amx_bf16<1, 3>, multiply_amx_bf16<1, 4>},
      {multiply_amx_bf16<2, 1>, multiply_amx_bf16<2, 2>, nullptr, nullptr}};
};

}  // namespace
}  // namespace lathe::kernels

#pragma GCC diagnostic pop
