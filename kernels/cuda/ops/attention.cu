// SPDX-License-Identifier: Apache-2.0
// Attention over a paged cache: all query heads of a KV head together, windows of 32 tokens in shared memory, online softmax
// in f32. Contexts are cut into parts at multiples of kAttentionPart; attend() or merge_parts() merges the parts in order.
// Source: Dao 2023, FlashAttention-2; Dao et al. 2023, Flash-Decoding.
#include "kernels/cuda/ops/kv.cuh"
#include "kernels/cuda/ops/launch.cuh"

namespace lathe::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;
constexpr int kTokens = kAttentionWindow;
static_assert(kTokens == kWarp && kAttentionPart % kTokens == 0);

struct Shape {
  int n_heads, group, head_dim, padded_dim, n_chunks;
};

/// State of an online softmax: the largest score so far, and the sum of the weights exp(score - largest).
struct SoftmaxState {
  float largest = -INFINITY, sum = 0;
};

/// Merges `part` into `state`. Returns the factors for the weighted values of `state` (x) and of `part` (y). Multiply-adds
/// are not fused, so that attend() and merge_parts() give the same bits.
__device__ inline float2 merge(SoftmaxState& state, const SoftmaxState& part) {
  if (part.largest == -INFINITY) return {1, 0};
  const float largest = fmaxf(state.largest, part.largest);
  const float2 factors{expf(state.largest - largest), expf(part.largest - largest)};
  state = {largest, __fadd_rn(__fmul_rn(state.sum, factors.x), __fmul_rn(part.sum, factors.y))};
  return factors;
}
__device__ inline float merged(float value, float of_part, float2 factors) {
  return __fadd_rn(__fmul_rn(value, factors.x), __fmul_rn(of_part, factors.y));
}

/// Shared memory of a block of threads.
template <int kQueries>
struct SharedTiles {
  float *q, *k, *v, *part, *total, *weights;
  float2* factors;
  std::int64_t* kv_rows;

  __device__ SharedTiles(float* memory, int dim) {
    q = memory;
    k = q + kQueries * dim;
    v = k + kTokens * (dim + 4);
    part = v + kTokens * dim;
    total = part + kQueries * dim;
    weights = total + kQueries * dim;
    factors = reinterpret_cast<float2*>(weights + kQueries * kTokens);
    kv_rows = reinterpret_cast<std::int64_t*>(factors + kQueries);
  }
  static std::size_t n_bytes(int dim) {
    const std::size_t floats = static_cast<std::size_t>(kTokens) * (2 * dim + 4) +
                               static_cast<std::size_t>(kQueries) * (3 * dim + kTokens + 2) + 2 * kTokens;
    return floats * sizeof(float);
  }
};

/// Loads K or V of 32 tokens as f32, in rows `stride` apart; tokens after the end of the part become zeros.
template <class T>
__device__ void load_window(float* to, int stride, const KvHalf<T>& half, const std::int64_t* kv_rows, int padded_dim) {
  constexpr int kVector = 16 / sizeof(T);
  const int dim = half.head_dim;
  const auto scaled = [&](T number, std::int64_t head) {
    if constexpr (std::is_same_v<T, std::int8_t>) return number_of(number) * half.scales[head];
    return number_of(number);
  };
  if (dim % kVector == 0) {
    const int of_token = dim / kVector;
    for (int i = threadIdx.x; i < kTokens * of_token; i += kThreads) {
      const int token = i / of_token, d = i % of_token * kVector;
      const std::int64_t head = kv_rows[token];
      uint4 bits{0, 0, 0, 0};
      if (head >= 0) bits = *reinterpret_cast<const uint4*>(half.numbers + head * dim + d);
      const T* const numbers = reinterpret_cast<const T*>(&bits);
#pragma unroll
      for (int j = 0; j < kVector; j += 4) {
        float4 four = make_float4(0, 0, 0, 0);
        if (head >= 0)
          four = make_float4(scaled(numbers[j], head), scaled(numbers[j + 1], head), scaled(numbers[j + 2], head),
                             scaled(numbers[j + 3], head));
        *reinterpret_cast<float4*>(to + token * stride + d + j) = four;
      }
    }
    return;
  }
  for (int i = threadIdx.x; i < kTokens * padded_dim; i += kThreads) {
    const int token = i / padded_dim, d = i % padded_dim;
    const std::int64_t head = kv_rows[token];
    to[token * stride + d] = head >= 0 && d < dim ? scaled(half.numbers[head * dim + d], head) : 0.0F;
  }
}

/// One query: a head of a row.
struct Query {
  int head;
  std::int64_t row;
  int first, last;  ///< first and last token that the query attends to
};

/// Work of a block of threads: some query heads of one KV head, for the rows of a tile.
struct TileWork {
  AttentionTile tile;
  int kv_head, first_head, n_heads, n_queries;

  __device__ TileWork(const AttentionRows& rows, const Shape& shape, int most_heads)
      : tile(rows.tiles[blockIdx.x]),
        kv_head(static_cast<int>(blockIdx.y) / shape.n_chunks),
        first_head(static_cast<int>(blockIdx.y) % shape.n_chunks * most_heads),
        n_heads(min(shape.group - first_head, most_heads)),
        n_queries(tile.n_rows * n_heads) {}

  __device__ Query query(const AttentionRows& rows, const Shape& shape, int i) const {
    const int of_tile = i / n_heads, position = tile.position + (rows.is_causal ? of_tile : 0);
    return {kv_head * shape.group + first_head + i % n_heads, tile.row + of_tile,
            rows.window > 0 ? max(0, position + 1 - rows.window) : 0, position};
  }
};

__device__ inline float rounded_to_bf16(float x) { return __bfloat162float(__float2bfloat16_rn(x)); }
__device__ inline float rounded_bias(float slope, int token) {
  return rounded_to_bf16(__fmul_rn(slope, rounded_to_bf16(static_cast<float>(token))));
}

__device__ inline float score_of(float dot, const AttentionRows& rows, const Query& query, int token) {
  if (token < query.first || token > query.last) return -INFINITY;
  float score = __fmul_rn(dot, rows.scale);
  if (rows.soft_cap > 0) score = __fmul_rn(rows.soft_cap, tanhf(__fdiv_rn(score, rows.soft_cap)));
  if (rows.slopes == nullptr) return score;
  const float slope = rows.slopes[query.head];
  if (rows.rounded_slope_scale == 0) return fmaf(slope, static_cast<float>(token - query.last), score);
  return fmaf(__fsub_rn(rounded_bias(slope, token), rounded_bias(slope, query.last)), rows.rounded_slope_scale, score);
}

/// Computes q k^T of a window for the queries of this warp; each thread has one token.
template <int kQueries>
__device__ void multiply_window(float (&dots)[kQueries / kWarps], const SharedTiles<kQueries>& tiles, int dim) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  for (int d = 0; d < dim; d += 4) {
    const float4 k = *reinterpret_cast<const float4*>(tiles.k + lane * (dim + 4) + d);
#pragma unroll
    for (int i = 0; i < kQueries / kWarps; ++i) {
      const float4 q = *reinterpret_cast<const float4*>(tiles.q + (i * kWarps + warp) * dim + d);
      dots[i] = fmaf(q.x, k.x, dots[i]);
      dots[i] = fmaf(q.y, k.y, dots[i]);
      dots[i] = fmaf(q.z, k.z, dots[i]);
      dots[i] = fmaf(q.w, k.w, dots[i]);
    }
  }
}

/// Computes the softmax weights of a window's tokens for the queries of this warp. A window in which a query attends to no
/// token changes no bit of its result.
template <int kQueries>
__device__ void weigh_window(const SharedTiles<kQueries>& tiles, SoftmaxState (&state)[kQueries / kWarps],
                             const TileWork& work, const AttentionRows& rows, const Shape& shape, int token) {
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  float dots[kQueries / kWarps] = {};
  multiply_window(dots, tiles, shape.padded_dim);
#pragma unroll
  for (int i = 0; i < kQueries / kWarps; ++i) {
    const int at = i * kWarps + warp;
    if (at >= work.n_queries) break;
    const float score = score_of(dots[i], rows, work.query(rows, shape, at), token + lane);
    float highest = score;
    for (int other = kWarp / 2; other > 0; other /= 2)
      highest = fmaxf(highest, __shfl_xor_sync(0xffffffffU, highest, other));
    highest = fmaxf(highest, state[i].largest);
    const float weight = score == -INFINITY ? 0.0F : expf(score - highest);
    float sum = weight;
    for (int other = kWarp / 2; other > 0; other /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, other);
    const float factor = state[i].largest == highest ? 1.0F : expf(state[i].largest - highest);
    state[i] = {highest, __fadd_rn(__fmul_rn(state[i].sum, factor), sum)};
    tiles.weights[at * kTokens + lane] = weight;
    if (lane == 0) tiles.factors[at] = {factor, 1};
  }
}

/// tiles.part = tiles.part * factor + weights V, for the tokens of a window.
template <int kQueries>
__device__ void add_window(const SharedTiles<kQueries>& tiles, const Shape& shape, int n_queries) {
  for (int d = threadIdx.x; d < shape.head_dim; d += kThreads) {
    float sums[kQueries] = {};
    for (int token = 0; token < kTokens; token += 4) {
      float v[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) v[i] = tiles.v[(token + i) * shape.padded_dim + d];
#pragma unroll
      for (int q = 0; q < kQueries; ++q) {
        const float4 weights = *reinterpret_cast<const float4*>(tiles.weights + q * kTokens + token);
        sums[q] = fmaf(weights.x, v[0], sums[q]);
        sums[q] = fmaf(weights.y, v[1], sums[q]);
        sums[q] = fmaf(weights.z, v[2], sums[q]);
        sums[q] = fmaf(weights.w, v[3], sums[q]);
      }
    }
#pragma unroll
    for (int q = 0; q < kQueries; ++q) {
      if (q >= n_queries) break;
      float& part = tiles.part[q * shape.padded_dim + d];
      part = fmaf(part, tiles.factors[q].x, sums[q]);
    }
  }
}

/// Computes one part window by window: `tiles.part` becomes its weighted sum of V, `state` its softmax state.
template <class T, int kQueries>
__device__ void attend_part(const SharedTiles<kQueries>& tiles, SoftmaxState (&state)[kQueries / kWarps],
                            const KvHalf<T>& k_half, const KvHalf<T>& v_half, const TileWork& work,
                            const AttentionRows& rows, const Shape& shape, int begin, int end) {
  const std::int32_t* const table = rows.block_tables + static_cast<std::int64_t>(work.tile.seq) * rows.max_blocks;
  const int dim = shape.padded_dim;
  for (int i = threadIdx.x; i < kQueries * dim; i += kThreads) tiles.part[i] = 0;
  for (int token = begin; token < end; token += kTokens) {
    __syncthreads();
    if (threadIdx.x < kTokens) {
      const int at = token + static_cast<int>(threadIdx.x);
      tiles.kv_rows[threadIdx.x] =
          at < end ? k_half.head_of(table[at / k_half.block_size], at % k_half.block_size, work.kv_head) : -1;
    }
    __syncthreads();
    load_window(tiles.k, dim + 4, k_half, tiles.kv_rows, dim);
    load_window(tiles.v, dim, v_half, tiles.kv_rows, dim);
    __syncthreads();
    weigh_window(tiles, state, work, rows, shape, token);
    __syncthreads();
    add_window(tiles, shape, work.n_queries);
  }
  __syncthreads();
}

/// Address at which a part of a query is stored until the merge: head_dim sums, the largest score and the sum of weights.
__device__ inline float* partial_of(float* partials, const Shape& shape, const Query& query, int n_parts, int part) {
  return partials + ((query.row * shape.n_heads + query.head) * n_parts + part) * (shape.head_dim + 2);
}

template <int kQueries>
__device__ void keep_part(float* partials, const SharedTiles<kQueries>& tiles,
                          const SoftmaxState (&state)[kQueries / kWarps], const TileWork& work, const AttentionRows& rows,
                          const Shape& shape, int part) {
  for (int at = 0; at < work.n_queries; ++at) {
    float* const to = partial_of(partials, shape, work.query(rows, shape, at), rows.n_parts, part);
    for (int d = threadIdx.x; d < shape.head_dim; d += kThreads) to[d] = tiles.part[at * shape.padded_dim + d];
  }
#pragma unroll
  for (int i = 0; i < kQueries / kWarps; ++i) {
    const int at = i * kWarps + static_cast<int>(threadIdx.x) / kWarp;
    if (at >= work.n_queries || threadIdx.x % kWarp != 0) continue;
    float* const to = partial_of(partials, shape, work.query(rows, shape, at), rows.n_parts, part) + shape.head_dim;
    to[0] = state[i].largest;
    to[1] = state[i].sum;
  }
}

/// Merges tiles.part and `state` into tiles.total and `total`.
template <int kQueries>
__device__ void add_part(const SharedTiles<kQueries>& tiles, SoftmaxState (&total)[kQueries / kWarps],
                         const SoftmaxState (&state)[kQueries / kWarps], const TileWork& work, const Shape& shape) {
#pragma unroll
  for (int i = 0; i < kQueries / kWarps; ++i) {
    const int at = i * kWarps + static_cast<int>(threadIdx.x) / kWarp;
    const float2 factors = merge(total[i], state[i]);
    if (threadIdx.x % kWarp == 0) tiles.factors[at] = factors;
  }
  __syncthreads();
  for (int at = 0; at < work.n_queries; ++at) {
    for (int d = threadIdx.x; d < shape.head_dim; d += kThreads) {
      float& value = tiles.total[at * shape.padded_dim + d];
      value = merged(value, tiles.part[at * shape.padded_dim + d], tiles.factors[at]);
    }
  }
  __syncthreads();
}

/// The factor (x) and the divisor (y) that finish the weighted values of a query, its sink included.
__device__ inline float2 last_factors(SoftmaxState total, const AttentionRows& rows, int head) {
  float factor = 1;
  if (rows.sinks != nullptr) factor = merge(total, {rows.sinks[head], 1}).x;
  return {factor, total.sum};
}
__device__ inline float finished(float value, float2 factors) { return __fdiv_rn(__fmul_rn(value, factors.x), factors.y); }

template <int kQueries>
__device__ void store_total(const Rows& out, const SharedTiles<kQueries>& tiles,
                            const SoftmaxState (&total)[kQueries / kWarps], const TileWork& work, const AttentionRows& rows,
                            const Shape& shape) {
#pragma unroll
  for (int i = 0; i < kQueries / kWarps; ++i) {
    const int at = i * kWarps + static_cast<int>(threadIdx.x) / kWarp;
    if (at >= work.n_queries || threadIdx.x % kWarp != 0) continue;
    tiles.factors[at] = last_factors(total[i], rows, work.query(rows, shape, at).head);
  }
  __syncthreads();
  for (int at = 0; at < work.n_queries; ++at) {
    const Query query = work.query(rows, shape, at);
    float* const to = out.data + query.row * out.stride + static_cast<std::int64_t>(query.head) * shape.head_dim;
    for (int d = threadIdx.x; d < shape.head_dim; d += kThreads)
      to[d] = finished(tiles.total[at * shape.padded_dim + d], tiles.factors[at]);
  }
}

template <class T, int kQueries>
__global__ void __launch_bounds__(kThreads)
    attend(Rows out, Rows q, KvHalf<T> k_half, KvHalf<T> v_half, AttentionRows rows, Shape shape, float* partials) {
  extern __shared__ float4 memory[];
  const SharedTiles<kQueries> tiles(reinterpret_cast<float*>(memory), shape.padded_dim);
  const TileWork work(rows, shape, kQueries);
  const int dim = shape.padded_dim;
  for (int i = threadIdx.x; i < kQueries * dim; i += kThreads) {
    const int at = i / dim, d = i % dim;
    const bool is_there = at < work.n_queries && d < shape.head_dim;
    const Query query = work.query(rows, shape, is_there ? at : 0);
    tiles.q[i] = is_there ? q.data[query.row * q.stride + static_cast<std::int64_t>(query.head) * shape.head_dim + d] : 0.0F;
    tiles.total[i] = 0;
  }
  for (int i = threadIdx.x; i < kQueries * kTokens; i += kThreads) tiles.weights[i] = 0;
  // Rows of a tile are consecutive: the first row attends to the first token, the last row to the last token.
  const int first = work.query(rows, shape, 0).first / kTokens * kTokens;
  const int end = work.query(rows, shape, work.n_queries - 1).last + 1;
  SoftmaxState total[kQueries / kWarps];
  for (int part = first / kAttentionPart; part * kAttentionPart < end; ++part) {
    if (part % rows.n_splits != static_cast<int>(blockIdx.z)) continue;
    SoftmaxState state[kQueries / kWarps];
    attend_part(tiles, state, k_half, v_half, work, rows, shape, max(part * kAttentionPart, first),
                min((part + 1) * kAttentionPart, end));
    if (rows.n_splits == 1) {
      add_part(tiles, total, state, work, shape);
    } else {
      keep_part(partials, tiles, state, work, rows, shape, part);
      __syncthreads();
    }
  }
  if (rows.n_splits == 1) store_total(out, tiles, total, work, rows, shape);
}

/// Merges the parts of each row in order. A block of threads has one head of the rows of a tile.
__global__ void merge_parts(Rows out, AttentionRows rows, Shape shape, float* partials) {
  const AttentionTile tile = rows.tiles[blockIdx.x];
  const int head = static_cast<int>(blockIdx.y);
  for (int i = 0; i < tile.n_rows; ++i) {
    const int last = tile.position + (rows.is_causal ? i : 0);
    const int first = rows.window > 0 ? max(0, last + 1 - rows.window) : 0;
    const Query query{head, tile.row + i, first, last};
    float* const to = out.data + query.row * out.stride + static_cast<std::int64_t>(head) * shape.head_dim;
    for (int d = threadIdx.x; d < shape.head_dim; d += kThreads) {
      SoftmaxState total;
      float value = 0;
      for (int part = first / kAttentionPart; part <= last / kAttentionPart; ++part) {
        const float* const from = partial_of(partials, shape, query, rows.n_parts, part);
        value = merged(value, from[d], merge(total, {from[shape.head_dim], from[shape.head_dim + 1]}));
      }
      to[d] = finished(value, last_factors(total, rows, head));
    }
  }
}

template <class T, int kQueries>
void launch(Stream stream, const Rows& out, const Rows& q, const KvLayer& layer, const AttentionRows& rows,
            const Shape& shape, float* partials) {
  const std::size_t n_bytes = SharedTiles<kQueries>::n_bytes(shape.padded_dim);
  check(cudaFuncSetAttribute(attend<T, kQueries>, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(n_bytes)),
        "setting the shared memory of attention");
  const dim3 grid(static_cast<unsigned>(rows.n_tiles), static_cast<unsigned>(layer.shape.n_kv_heads * shape.n_chunks),
                  static_cast<unsigned>(rows.n_splits));
  attend<T, kQueries><<<grid, kThreads, n_bytes, stream>>>(out, q, kv_half<T>(layer, false), kv_half<T>(layer, true), rows,
                                                           shape, partials);
  check_launch();
}

}  // namespace

void attention(Stream stream, const Rows& out, const Rows& q, int n_heads, const KvLayer& layer, const AttentionRows& rows,
               float* partials) {
  if (rows.n_tiles == 0) return;
  const int head_dim = layer.shape.head_dim, group = n_heads / layer.shape.n_kv_heads;
  const Shape shape{.n_heads = n_heads,
                    .group = group,
                    .head_dim = head_dim,
                    .padded_dim = static_cast<int>(round_up(head_dim, 4)),
                    .n_chunks = static_cast<int>(div_up(group, rows.n_queries))};
  for_kv_type(layer.shape.dtype, [&](auto number) {
    using T = decltype(number);
    rows.n_queries == kFewQueries ? launch<T, kFewQueries>(stream, out, q, layer, rows, shape, partials)
                                  : launch<T, kManyQueries>(stream, out, q, layer, rows, shape, partials);
  });
  if (rows.n_splits > 1) {
    const dim3 grid(static_cast<unsigned>(rows.n_tiles), static_cast<unsigned>(n_heads));
    merge_parts<<<grid, kThreads, 0, stream>>>(out, rows, shape, partials);
    check_launch();
  }
}

}  // namespace lathe::kernels::cuda
