// SPDX-License-Identifier: Apache-2.0
// Turns: which warp of a team takes which chunk of k of a product with few rows (ops/few_product.cuh).
#pragma once

#include "kernels/cuda/layout/matrix_layout.h"

namespace lathe::kernels::cuda {

/// A chunk of k of a group of tiles.
struct ChunkOfGroup {
  int group = 0, chunk = 0;
};

/// Team t has the groups t, t + n_teams, ...; the chunks of a team's groups, one group after the other, go to its warps in
/// turn.
struct ChunkTurns {
  int n_chunks = 0;  ///< of a group
  int n_groups = 0;
  int n_teams = 0;
  int n_warps = 1;  ///< of a team

  LATHE_ON_BOTH constexpr ChunkOfGroup after(ChunkOfGroup at, int count) const {
    at.chunk += count;
    while (at.chunk >= n_chunks) {
      at.chunk -= n_chunks;
      at.group += n_teams;
    }
    return at;
  }
  LATHE_ON_BOTH constexpr ChunkOfGroup first_of(int team, int warp) const { return after({team, 0}, warp); }
  /// The chunk that the same warp takes next.
  LATHE_ON_BOTH constexpr ChunkOfGroup next_of_warp(ChunkOfGroup at) const { return after(at, n_warps); }
  /// The warp of the team that takes the chunk after the one of `warp`.
  LATHE_ON_BOTH constexpr int successor(int warp) const { return (warp + 1) % n_warps; }
  LATHE_ON_BOTH constexpr bool is_there(ChunkOfGroup at) const { return at.group < n_groups; }
  LATHE_ON_BOTH constexpr bool is_last_of_group(ChunkOfGroup at) const { return at.chunk == n_chunks - 1; }
  /// True if the team has a chunk after this one.
  LATHE_ON_BOTH constexpr bool has_next(ChunkOfGroup at) const {
    return !is_last_of_group(at) || at.group + n_teams < n_groups;
  }
};

/// Teams of a block of threads with `n_groups` groups and at most `most_warps` warps: as many as take them in the fewest
/// rounds of at most kMostTeams, because the turns of one team wait for each other.
inline constexpr int kMostTeams = 8;
constexpr int teams_of_block(int n_groups, int most_warps) {
  const int most = most_warps < kMostTeams ? most_warps : kMostTeams, n_rounds = (n_groups + most - 1) / most;
  return n_groups == 0 ? 1 : (n_groups + n_rounds - 1) / n_rounds;
}

}  // namespace lathe::kernels::cuda
