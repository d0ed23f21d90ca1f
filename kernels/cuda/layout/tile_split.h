// SPDX-License-Identifier: Apache-2.0
// Division of the tiles of a product with many rows among workers (blocks of threads, or clusters of them) that run at the
// same time. Most tiles are computed whole, one worker each. Where the last tiles would leave workers idle, all workers get
// equal ranges of the last tiles' k instead: the worker that begins a tile hands its totals to the next worker, which
// continues them, so that the sums are those of a whole tile.
// Source: Osama et al. 2023, "Stream-K".
#pragma once

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

/// Chunks (256 k) [begin, end) of a tile.
struct TilePart {
  int tile = 0, begin = 0, end = 0;
};

struct TileSplit {
  int n_tiles = 0, n_chunks = 0;  ///< n_chunks: of each tile
  int n_workers = 1;
  int n_whole = 0;  ///< the first tiles, which are computed whole; the others are split

  /// The first chunk of a worker among those of the split tiles.
  LATHE_ON_BOTH constexpr int begin_of(int worker) const {
    return static_cast<int>(static_cast<std::int64_t>(worker) * (n_tiles - n_whole) * n_chunks / n_workers);
  }
};

/// Splits tiles if otherwise more than a tenth of the workers' time were idle. Each worker then has between one and two
/// tiles of the split ones, so a tile has at most two parts.
constexpr TileSplit split_tiles(int n_tiles, int n_chunks, int n_most_workers, bool may_split) {
  TileSplit split{
      .n_tiles = n_tiles, .n_chunks = n_chunks, .n_workers = n_tiles < n_most_workers ? n_tiles : n_most_workers};
  const std::int64_t n_waves = div_up(n_tiles, split.n_workers);
  const bool is_full = std::int64_t{10} * n_tiles >= 9 * n_waves * split.n_workers;
  split.n_whole = is_full || !may_split ? n_tiles : (n_tiles / split.n_workers - 1) * split.n_workers;
  return split;
}

/// The parts of one worker in their order. It begins a tile for the next worker before its own tiles, and comes to the tile
/// that the worker before it has begun last, so it does not wait for that worker in practice.
class PartWalk {
 public:
  LATHE_ON_BOTH constexpr PartWalk(const TileSplit& split, int worker)
      : split_(split), tile_(worker), begin_(split.begin_of(worker)), end_(split.begin_of(worker + 1)) {
    take();
  }
  LATHE_ON_BOTH constexpr bool has_part() const { return part_.begin < part_.end; }
  LATHE_ON_BOTH constexpr const TilePart& part() const { return part_; }
  /// True if another worker continues the tile, or has begun it.
  LATHE_ON_BOTH constexpr bool hands_over() const { return part_.end < split_.n_chunks; }
  LATHE_ON_BOTH constexpr bool continues() const { return part_.begin > 0; }

  LATHE_ON_BOTH constexpr void advance() {
    if (tile_ < split_.n_whole) tile_ += split_.n_workers;
    else end_ -= part_.end - part_.begin;
    take();
  }

 private:
  LATHE_ON_BOTH constexpr void take() {
    if (tile_ < split_.n_whole) {
      part_ = {tile_, 0, split_.n_chunks};
    } else if (begin_ < end_) {
      const int tile = (end_ - 1) / split_.n_chunks, first = tile * split_.n_chunks;
      part_ = {split_.n_whole + tile, (begin_ > first ? begin_ : first) - first, end_ - first};
    } else {
      part_ = {};
    }
  }

  const TileSplit& split_;
  int tile_;         // the next whole tile
  int begin_, end_;  // what is left of this worker's range of the split tiles
  TilePart part_;
};

}  // namespace lathe::kernels::cuda
