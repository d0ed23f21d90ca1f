// SPDX-License-Identifier: Apache-2.0
// Turns: which warp of a cluster takes which chunk of k of a product with few rows (ops/few_product.cuh).
#pragma once

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

/// A chunk of k of a group of tiles.
struct ChunkOfGroup {
  int group = 0, chunk = 0;
};

/// A warp of a cluster: the rank of its block, and its number in the block.
struct WarpOfCluster {
  int rank = 0, warp = 0;
};

/// Cluster c has the groups c, c + n_clusters, ...; the chunks of a cluster's groups, one group after the other, go to its
/// warps in turn: to the first warp of each block, then to the second of each block.
struct ChunkTurns {
  int n_chunks = 0;  ///< of a group
  int n_groups = 0;
  int n_clusters = 0;
  int cluster_size = 1, n_warps = 1;  ///< blocks of a cluster, warps of a block

  LATHE_ON_BOTH constexpr ChunkOfGroup after(ChunkOfGroup at, int count) const {
    at.chunk += count;
    while (at.chunk >= n_chunks) {
      at.chunk -= n_chunks;
      at.group += n_clusters;
    }
    return at;
  }
  LATHE_ON_BOTH constexpr ChunkOfGroup first_of(int cluster, WarpOfCluster warp) const {
    return after({cluster, 0}, warp.warp * cluster_size + warp.rank);
  }
  /// The chunk that the same warp takes next.
  LATHE_ON_BOTH constexpr ChunkOfGroup next_of_warp(ChunkOfGroup at) const { return after(at, n_warps * cluster_size); }
  /// The warp that takes the chunk after the one of `warp`.
  LATHE_ON_BOTH constexpr WarpOfCluster successor(WarpOfCluster warp) const {
    return {(warp.rank + 1) % cluster_size, (warp.warp + (warp.rank + 1) / cluster_size) % n_warps};
  }
  LATHE_ON_BOTH constexpr bool is_there(ChunkOfGroup at) const { return at.group < n_groups; }
  LATHE_ON_BOTH constexpr bool is_last_of_group(ChunkOfGroup at) const { return at.chunk == n_chunks - 1; }
  /// True if the cluster has a chunk after this one.
  LATHE_ON_BOTH constexpr bool has_next(ChunkOfGroup at) const {
    return !is_last_of_group(at) || at.group + n_clusters < n_groups;
  }
};

/// Teams of a block with `n_groups` groups: as many as finish them in the fewest rounds of at most eight, so that many warps
/// do not wait for one chain of turns.
constexpr int few_teams(int n_groups, int most_warps) {
  const int most = most_warps < 8 ? most_warps : 8, n_rounds = (n_groups + most - 1) / most;
  return n_groups == 0 ? 1 : (n_groups + n_rounds - 1) / n_rounds;
}

}  // namespace lathe::kernels::cuda
