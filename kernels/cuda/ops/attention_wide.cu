// SPDX-License-Identifier: Apache-2.0
// Attention of prompts on Hopper: two groups of four warps with 64 queries each multiply windows of K and V, which a third
// group copies to shared memory ahead of them.
// Source: Dao 2023, FlashAttention-2; Shah et al. 2024, FlashAttention-3.
#include "kernels/cuda/ops/attention_total.cuh"
#include "kernels/cuda/ops/dependent_launch.cuh"
#include "kernels/cuda/ops/once_per_device.cuh"
#include "kernels/cuda/ops/tensor_attention.h"
#include "kernels/cuda/ops/tensor_form.cuh"
#include "kernels/cuda/ops/warpgroup.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kGroups = 2, kGroupQueries = 64, kGroupThreads = 4 * kWarp;
constexpr int kConsumers = kGroups * kGroupThreads, kThreads = kConsumers + kGroupThreads;
static_assert(kGroups * kGroupQueries == kWidePromptQueries);

/// Shared memory of a block.
template <int kDim>
struct WideMemory {
  static constexpr int kWindowBytes = kScoreWindow * kDim * 2;  ///< K or V of a window
  static constexpr int kQueryBytes = kGroupQueries * kDim * 2;  ///< queries of a group
  static constexpr int kStages = 4;
  static constexpr int kQueries = 0, kWindows = kQueries + kGroups * kQueryBytes;
  static constexpr int kBarriers = kWindows + kStages * 2 * kWindowBytes;
  static constexpr int kBytes = kBarriers + kStages * 2 * 8 + 1024;  ///< 1024 to begin at a multiple of 1024

  std::uint32_t base;
  __device__ std::uint32_t queries(int group) const { return base + kQueries + group * kQueryBytes; }
  __device__ std::uint32_t keys(int stage) const { return base + kWindows + stage * 2 * kWindowBytes; }
  __device__ std::uint32_t values(int stage) const { return keys(stage) + kWindowBytes; }
  __device__ std::uint32_t full(int stage) const { return base + kBarriers + stage * 16; }
  __device__ std::uint32_t empty(int stage) const { return full(stage) + 8; }
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

constexpr int kTokens = kScoreWindow / 4;  ///< tokens of a window that a warp copies

/// Copies the windows [begin, end) of K and V. One group of warps.
template <class T, int kDim, class Memory>
__device__ void copy_windows(const Memory& memory, const KvHalf<T>& k, const KvHalf<T>& v, const std::int32_t* table,
                             int kv_head, int begin, int end) {
  constexpr int kStages = Memory::kStages;
  const int first = static_cast<int>(threadIdx.x) / kWarp % 4 * kTokens;
  WindowRows<T, kDim, kTokens> window;
  window.find(k, table, kv_head, begin + first, end);
  wait_for_previous();
  int i = 0;
  for (int token = begin; token < end; token += kScoreWindow, ++i) {
    const int stage = i % kStages;
    wait_phase(memory.empty(stage), i / kStages % 2 ^ 1);
    window.copy_swizzled(k.numbers, memory.keys(stage) + first * kSwizzledRow);
    window.copy_swizzled(v.numbers, memory.values(stage) + first * kSwizzledRow);
    commit_copies();
    window.find(k, table, kv_head, token + kScoreWindow + first, end);
    if (i == 0) continue;
    wait_for_copies<1>();
    publish_to_products();
    arrive(memory.full((i - 1) % kStages));
  }
  wait_for_copies<0>();
  publish_to_products();
  arrive(memory.full((i - 1) % kStages));
}

/// Writes the queries of a group of warps to shared memory, rounded to T; rows without a query are zeros.
template <class T, int kDim>
__device__ void load_queries(std::uint32_t to, const Rows& q, const TileQueries& tile, const AttentionRows& rows,
                             int group) {
  const int thread = static_cast<int>(threadIdx.x) % kGroupThreads;
  for (int i = thread; i < kGroupQueries * kDim / 8; i += kGroupThreads) {
    const int row = i / (kDim / 8), piece = i % (kDim / 8), at = group * kGroupQueries + row;
    std::uint32_t packed[4] = {0, 0, 0, 0};
    if (at < tile.n_queries) {
      const Query query = tile.query(rows, at);
      const float* const from = q.data + query.row * q.stride + static_cast<std::int64_t>(query.head) * kDim + piece * 8;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float2 two = *reinterpret_cast<const float2*>(from + 2 * j);
        packed[j] = packed_as<T>(two.x, two.y);
      }
    }
    asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n" ::"r"(to + swizzled(row, piece)), "r"(packed[0]),
                 "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                 : "memory");
  }
  publish_to_products();
  asm volatile("bar.sync %0, %1;\n" ::"r"(1 + group), "n"(kGroupThreads) : "memory");
}

/// Begins scores = q k^T of a window.
template <class T, int kDim>
__device__ inline void begin_scores(float (&scores)[kScoreWindow / 8][4], std::uint32_t q, std::uint32_t k) {
#pragma unroll
  for (int step = 0; step < kDim / 16; ++step) {
    const int offset = step / 4 * 64 * kSwizzledRow + step % 4 * 32;
    multiply_scores<T>(scores, matrix_descriptor(q + offset, 16), matrix_descriptor(k + offset, 16), step > 0);
  }
  commit_products();
}

/// Begins values += weights v of a window.
template <class T, int kDim>
__device__ inline void begin_values(float (&values)[kDim / 8][4], const std::uint32_t (&weights)[kScoreWindow / 16][4],
                                    std::uint32_t v) {
#pragma unroll
  for (int step = 0; step < kScoreWindow / 16; ++step)
    multiply_weights<T>(values, weights[step], matrix_descriptor(v + step * 16 * kSwizzledRow, 64 * kSwizzledRow));
  commit_products();
}

/// Computes the queries of a group of warps.
template <class T, int kDim, bool kIsPlain>
__device__ void multiply_windows(const WideMemory<kDim>& memory, const Rows& out, const PreparedX& prepared, const Rows& q,
                                 const AttentionRows& rows, const TileQueries& tile, int begin, int end) {
  using Memory = WideMemory<kDim>;
  wait_for_previous();
  const Scoring scoring(rows);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, of_group = warp / 4, first_of_group = of_group * kGroupQueries,
            first_query = warp * kQueryTile;
  load_queries<T, kDim>(memory.queries(of_group), q, tile, rows, of_group);
  WarpQueries<T, kDim> mine;
  mine.find(rows, tile, first_query);
  TotalSums<kDim, kConsumers, false> total(nullptr);
  PartSums<kDim> part;
  part.clear();

  // Tokens that some query of the group attends to, and those to which all queries of the warp attend.
  const bool has_group = first_of_group < tile.n_queries, has_queries = first_query < tile.n_queries;
  const int some_first = has_group ? tile.first_from(rows, first_of_group) / kScoreWindow * kScoreWindow : end;
  const int some_end = has_group ? tile.last_to(rows, first_of_group + kGroupQueries - 1) + 1 : 0;
  const int all_first = has_queries ? tile.first_from(rows, min(first_query + kQueryTile, tile.n_queries) - 1) : end;
  const int all_last = has_queries ? tile.last_to(rows, first_query) : -1;
  int window = 0;
  const auto wait_full = [&](int at) { wait_phase(memory.full(at % Memory::kStages), at / Memory::kStages % 2); };
  const auto release = [&](int at) {
    __syncwarp();
    if (threadIdx.x % kWarp == 0) arrive(memory.empty(at % Memory::kStages));
  };
  int token = begin;
  for (; token < end && token < some_first; token += kScoreWindow, ++window) {
    wait_full(window);
    release(window);
  }
  float scores[kScoreWindow / 8][4];
  for (; token < some_end; token += kScoreWindow, ++window) {
    if (token % kAttentionPart == 0 && token > begin) total.add(part, scoring.unit);
    const int stage = window % Memory::kStages;
    wait_full(window);
    hold(scores);
    begin_products();
    begin_scores<T, kDim>(scores, memory.queries(of_group), memory.keys(stage));
    wait_products<0>();
    hold(scores);
    std::uint32_t weights[kScoreWindow / 16][4];
    score_window<kIsPlain>(scores, mine.queries, mine.slopes, rows, token,
                           token < all_first || token + kScoreWindow - 1 > all_last);
    weigh_window<T, kDim>(weights, scores, part, scoring.unit);
    hold(part.values);
    begin_products();
    begin_values<T, kDim>(part.values, weights, memory.values(stage));
    wait_products<0>();
    hold(part.values);
    release(window);
  }
  for (; token < end; token += kScoreWindow, ++window) {
    wait_full(window);
    release(window);
  }
  total.add(part, scoring.unit);
  total.finish(out, prepared, mine.queries, rows);
}

#endif

/// Empty where there are no products of four warps.
template <class T, int kDim, bool kIsPlain>
__global__ void __launch_bounds__(kThreads, 1)
    attend_wide_tiles(const __grid_constant__ Rows out, const __grid_constant__ PreparedX prepared,
                      const __grid_constant__ Rows q, const __grid_constant__ KvHalf<T> k,
                      const __grid_constant__ KvHalf<T> v, const __grid_constant__ AttentionRows rows, const int group,
                      const int n_chunks) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using Memory = WideMemory<kDim>;
  extern __shared__ uint4 shared[];
  const Memory memory{(shared_address(shared) + 1023) / 1024 * 1024};
  let_next_begin();
  const int n_head_items = k.n_kv_heads * n_chunks, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int index = static_cast<int>(blockIdx.x);
  const TileQueries tile(rows.tiles[index / n_head_items], index % n_head_items, n_chunks, group, kWidePromptQueries);
  const int begin = tile.first_from(rows, 0) / kScoreWindow * kScoreWindow, end = tile.last_to(rows, tile.n_queries - 1) + 1;
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Memory::kStages; ++stage) {
      init_barrier(memory.full(stage), kGroupThreads);
      init_barrier(memory.empty(stage), kConsumers / kWarp);
    }
    publish_barriers();
  }
  __syncthreads();
  if (warp >= kConsumers / kWarp) {
    shrink_registers<40>();
    copy_windows<T, kDim>(memory, k, v, rows.block_tables + static_cast<std::int64_t>(tile.tile.seq) * rows.max_blocks,
                          tile.kv_head, begin, end);
  } else {
    grow_registers<232>();
    multiply_windows<T, kDim, kIsPlain>(memory, out, prepared, q, rows, tile, begin, end);
  }
#endif
}

template <class T, int kDim, bool kIsPlain>
void launch(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
            const AttentionRows& rows, int group) {
  constexpr int kBytes = WideMemory<kDim>::kBytes;
  static_assert(kBytes <= 227 << 10);
  const auto kernel = attend_wide_tiles<T, kDim, kIsPlain>;
  const cudaError_t allowed =
      once_per_device([&] { return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes); });
  check(allowed, "setting the shared memory of attention");
  const int n_chunks = static_cast<int>(div_up(group, kWidePromptQueries));
  const auto n_blocks = static_cast<unsigned>(rows.n_tiles * layer.shape.n_kv_heads * n_chunks);
  launch_dependent(kernel, dim3(n_blocks), dim3(kThreads), kBytes, stream, out, prepared, q, kv_half<T>(layer, false),
                   kv_half<T>(layer, true), rows, group, n_chunks);
}

}  // namespace

bool has_warpgroup_attention(const KvShape& shape, const AttentionRows& rows) {
  if (!has_wgmma() || !is_wide_head(shape.head_dim) || !has_tensor_attention(shape, rows)) return false;
  // Without the instructions the kernel is empty and needs few registers.
  return once_per_device([] {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, attend_wide_tiles<__nv_bfloat16, 128, true>), "querying attention");
    return attributes.numRegs > 64;
  });
}

void attend_wide(Stream stream, const Rows& out, const PreparedX& prepared, const Rows& q, const KvLayer& layer,
                 const AttentionRows& rows, int group) {
  if (rows.n_tiles == 0) return;
  LATHE_CHECK(has_warpgroup_attention(layer.shape, rows));
  for_tensor_form(layer.shape, Scoring(rows).is_plain, [&]<class T, int kDim, bool kIsPlain>() {
    if constexpr (is_wide_head(kDim)) launch<T, kDim, kIsPlain>(stream, out, prepared, q, layer, rows, group);
  });
}

}  // namespace lathe::kernels::cuda
