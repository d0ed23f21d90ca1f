// SPDX-License-Identifier: Apache-2.0
// Order in which the tiles of a product with many rows are computed: bands of a few tiles of outputs, each with all tiles of
// rows. Tiles that are computed at the same time are neighbours in both directions, so that the cache is read often and
// memory once.
#pragma once

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

struct TilePlace {
  int out = 0, row = 0;
};

struct TileOrder {
  int n_out = 0, n_row = 0;  ///< tiles along outputs and along rows
  int band = 1;              ///< tiles of outputs of a band

  LATHE_ON_BOTH constexpr int n_tiles() const { return n_out * n_row; }
  LATHE_ON_BOTH constexpr TilePlace place(int i) const {
    const int first = i / (band * n_row) * band, inner = i % (band * n_row);
    const int width = band < n_out - first ? band : n_out - first;
    return {first + inner % width, inner / width};
  }
};

}  // namespace lathe::kernels::cuda
