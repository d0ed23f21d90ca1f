// SPDX-License-Identifier: Apache-2.0
// Attention of prompts: four warps with 16 queries each share windows of K and V in shared memory.
// Source: Dao 2023, FlashAttention-2.
#include "kernels/cuda/ops/attention_total.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"
#include "kernels/cuda/ops/tensor_attention.h"
#include "kernels/cuda/ops/tensor_form.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = kPromptQueries / kQueryTile, kThreads = kWarps * kWarp;
constexpr int kTokens = kScoreWindow / kWarps;  ///< tokens of a window that a warp copies
constexpr int kStages = 2;

/// Sums of long heads do not fit into registers twice.
template <int kDim>
using Total = TotalSums<kDim, kThreads, (kDim > 128)>;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
constexpr bool kHasWide = true;
#else
constexpr bool kHasWide = false;
#endif

/// Tokens that the queries of a warp attend to.
struct SeenTokens {
  int some_first, some_last;  ///< that some query attends to
  int all_first, all_last;    ///< that all queries attend to

  /// `end`: the end of the tokens of the block.
  __device__ SeenTokens(const AttentionRows& rows, const TileQueries& tile, int first_query, int end)
      : some_first(end), some_last(-1), all_first(end), all_last(-1) {
    if (first_query >= tile.n_queries) return;
    const int last_query = min(first_query + kQueryTile, tile.n_queries) - 1;
    some_first = tile.first_from(rows, first_query);
    some_last = tile.last_to(rows, last_query);
    all_first = tile.first_from(rows, last_query);
    all_last = tile.last_to(rows, first_query);
  }
  /// True if no query attends to the window that begins at `token`.
  __device__ bool miss(int token) const { return token > some_last || token + kScoreWindow <= some_first; }
  /// True if each query attends to all of it.
  __device__ bool cover(int token) const { return token >= all_first && token + kScoreWindow - 1 <= all_last; }
};

/// The body of attend_tiles().
template <class T, int kDim, bool kIsPlain>
__device__ void attend_tile(const Rows& out, const PreparedX& prepared, const Rows& q, const KvHalf<T>& k,
                            const KvHalf<T>& v, const AttentionRows& rows, int group, int n_chunks) {
  using Layout = WindowLayout<kDim>;
  extern __shared__ uint4 memory[];
  let_next_begin();
  const Scoring scoring(rows);
  const int n_head_items = k.n_kv_heads * n_chunks, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int index = static_cast<int>(blockIdx.x);
  const TileQueries tile(rows.tiles[index / n_head_items], index % n_head_items, n_chunks, group, kPromptQueries);
  const std::int32_t* const table = rows.block_tables + static_cast<std::int64_t>(tile.tile.seq) * rows.max_blocks;
  const int begin = tile.first_from(rows, 0) / kScoreWindow * kScoreWindow, end = tile.last_to(rows, tile.n_queries - 1) + 1;
  const std::uint32_t ring = shared_address(memory), own = warp * kTokens * Layout::kRowBytes;
  WindowRows<T, kDim, kTokens> window;
  window.find(k, table, tile.kv_head, begin + warp * kTokens, end);
  wait_for_previous();

  int copied = begin, to = 0;
  const auto copy_next = [&] {
    if (copied < end) {
      const std::uint32_t of_k = ring + to * 2 * Layout::kBytes + own;
      const auto copy_to = [](std::uint32_t address) {
        return [address](int offset, const T* from, bool is_there) { copy_async(address + offset, from, is_there); };
      };
      window.copy(k.numbers, copy_to(of_k));
      window.copy(v.numbers, copy_to(of_k + Layout::kBytes));
      copied += kScoreWindow;
      window.find(k, table, tile.kv_head, copied + warp * kTokens, end);
    }
    commit_copies();
    to ^= 1;
  };
  copy_next();

  WarpQueries<T, kDim> mine;
  mine.find(rows, tile, warp * kQueryTile);
  mine.load(q);
  const SeenTokens seen(rows, tile, warp * kQueryTile, end);
  PartSums<kDim> part;
  part.clear();
  Total<kDim> total(reinterpret_cast<char*>(memory) + kStages * 2 * Layout::kBytes);
  int stage = 0;
  for (int token = begin; token < end; token += kScoreWindow) {
    if (token % kAttentionPart == 0 && token > begin) total.add(part, scoring.unit);
    wait_for_copies<0>();
    __syncthreads();  // the window has arrived, and all warps are done with the one before
    copy_next();
    const std::uint32_t keys = ring + stage * 2 * Layout::kBytes;
    stage ^= 1;
    if (seen.miss(token)) continue;
    float scores[kScoreWindow / 8][4];
    std::uint32_t weights[kScoreWindow / 16][4];
    multiply_keys<T, kDim>(scores, mine.fragments, keys);
    score_window<kIsPlain>(scores, mine.queries, mine.slopes, rows, token, !seen.cover(token));
    weigh_window<T, kDim>(weights, scores, part, scoring.unit);
    multiply_values<T, kDim>(part.values, weights, keys + Layout::kBytes);
  }
  total.add(part, scoring.unit);
  total.finish(out, prepared, mine.queries, rows);
}

/// Empty where attend_wide() has the form.
template <class T, int kDim, bool kIsPlain>
__global__ void __launch_bounds__(kThreads, kDim > 128 ? 1 : 2)
    attend_tiles(const __grid_constant__ Rows out, const __grid_constant__ PreparedX prepared,
                 const __grid_constant__ Rows q, const __grid_constant__ KvHalf<T> k, const __grid_constant__ KvHalf<T> v,
                 const __grid_constant__ AttentionRows rows, const int group, const int n_chunks) {
  if constexpr (!kHasWide || !is_wide_head(kDim))
    attend_tile<T, kDim, kIsPlain>(out, prepared, q, k, v, rows, group, n_chunks);
}

template <class T, int kDim, bool kIsPlain>
void launch(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
            const AttentionRows& rows, int group) {
  constexpr std::size_t kBytes = kStages * 2 * WindowLayout<kDim>::kBytes + Total<kDim>::kBytes;
  static_assert(kBytes <= (std::size_t{227} << 10));
  const auto kernel = attend_tiles<T, kDim, kIsPlain>;
  const cudaError_t allowed = once_per_device(
      [&] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(kBytes)); });
  check(allowed, "setting the shared memory of attention");
  const int n_chunks = static_cast<int>(div_up(group, kPromptQueries));
  const auto n_blocks = static_cast<unsigned>(rows.n_tiles * layer.shape.n_kv_heads * n_chunks);
  launch_dependent(kernel, dim3(n_blocks), dim3(kThreads), kBytes, stream, out, prepared, q, kv_half<T>(layer, false),
                   kv_half<T>(layer, true), rows, group, n_chunks);
}

}  // namespace

bool has_tensor_attention(const KvShape& shape, const AttentionRows& rows) {
  bool has = false;
  for_tensor_form(shape, Scoring(rows).is_plain, [&]<class T, int kDim, bool kIsPlain>() { has = true; });
  return has;
}

void attend_many(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group) {
  if (rows.n_tiles == 0) return;
  LATHE_CHECK(!has_warpgroup_attention(layer.shape, rows));
  for_tensor_form(layer.shape, Scoring(rows).is_plain, [&]<class T, int kDim, bool kIsPlain>() {
    launch<T, kDim, kIsPlain>(stream, out, prepared, q, layer, rows, group);
  });
}

}  // namespace lathe::kernels::cuda
