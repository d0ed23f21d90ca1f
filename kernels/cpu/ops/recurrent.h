// SPDX-License-Identifier: Apache-2.0
// Ops of recurrent layers: causal convolution, the gated delta rule, and norms and products with gates.
#pragma once

#include "kernels/cpu/ops/rowwise.h"

namespace lathe::kernels {
namespace {

/// One vector of channels at row t of an item. `history` is a ring of the taps - 1 rows before it: tap j is at
/// (t + j) % (taps - 1). Sums over the taps are one chain, the oldest row first.
template <class V, class Lanes>
void convolve(const ConvArgs& args, float* x, float* history, std::int64_t t, std::int64_t channel, std::int64_t column,
              Lanes n) {
  const std::int64_t n_before = args.taps - 1;
  const auto now = V::load_n(x, n);
  auto sum = args.bias != nullptr ? V::load_n(args.bias + channel, n) : V::zero();
  for (std::int64_t j = 0; j < n_before; ++j) {
    const auto before = V::load_n(history + (t + j) % n_before * kConvChannels + column, n);
    sum = V::fma(V::load_n(args.weight + j * args.n_channels + channel, n), before, sum);
  }
  sum = V::fma(V::load_n(args.weight + n_before * args.n_channels + channel, n), now, sum);
  V::store_n(history + t % n_before * kConvChannels + column, now, n);
  V::store_n(x, args.applies_silu ? Math<V>::silu(sum) : sum, n);
}

template <class V>
void causal_conv1d(const ConvArgs& args, const ConvItem& item) {
  const std::int64_t n_before = args.taps - 1, n = item.channel_end - item.channel_begin;
  alignas(64) float history[kMaxConvRows * kConvChannels] = {};
  for (std::int64_t j = 0; j < n_before; ++j) {
    const float* const state = item.state + j * args.n_channels + item.channel_begin;
    for_each_vector<V>(n, [&](std::int64_t i, auto lanes) {
      V::store_n(history + j * kConvChannels + i, item.is_fresh ? V::zero() : V::load_n(state + i, lanes), lanes);
    });
  }
  for (std::int64_t t = 0; t < item.n_rows; ++t) {
    float* const x = args.x + (item.row + t) * args.x_stride + item.channel_begin;
    for_each_vector<V>(
        n, [&](std::int64_t i, auto lanes) { convolve<V>(args, x + i, history, t, item.channel_begin + i, i, lanes); });
  }
  for (std::int64_t j = 0; j < n_before; ++j) {
    float* const state = item.state + j * args.n_channels + item.channel_begin;
    const float* const row = history + (item.n_rows + j) % n_before * kConvChannels;
    for_each_vector<V>(n, [&](std::int64_t i, auto lanes) { V::store_n(state + i, V::load_n(row + i, lanes), lanes); });
  }
}

/// x = x * scale / sqrt(sum of squares + eps), for each head of some rows.
template <class V>
void l2_norm_heads(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    for (std::int64_t head = 0; head < args.n_heads; ++head) {
      float* const x = args.x + m * args.x_stride + head * args.head_dim;
      const auto factor = V::set(args.scale / __builtin_sqrtf(sum_of_squares<V>(x, args.head_dim) + args.eps));
      for_each_vector<V>(args.head_dim,
                         [&](std::int64_t i, auto n) { V::store_n(x + i, V::mul(V::load_n(x + i, n), factor), n); });
    }
  }
}

/// x = norm(x) * weight * silu(gate), for each head of some rows.
template <class V>
void norm_heads_gated(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    for (std::int64_t head = 0; head < args.n_heads; ++head) {
      float* const x = args.x + m * args.x_stride + head * args.head_dim;
      const float* const gate = args.gate + m * args.gate_stride + head * args.head_dim;
      const float mean = sum_of_squares<V>(x, args.head_dim) / static_cast<float>(args.head_dim);
      const auto factor = V::set(1.0F / __builtin_sqrtf(mean + args.eps));
      for_each_vector<V>(args.head_dim, [&](std::int64_t i, auto n) {
        const auto normed = V::mul(V::mul(V::load_n(x + i, n), factor), V::load_n(args.weight + i, n));
        V::store_n(x + i, V::mul(normed, Math<V>::silu(V::load_n(gate + i, n))), n);
      });
    }
  }
}

template <class V>
void multiply_by_sigmoid(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto one = V::set(1.0F);
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* const x = args.x + m * args.x_stride;
    const float* const gate = args.gate + m * args.gate_stride;
    for_each_vector<V>(args.n_heads * args.head_dim, [&](std::int64_t i, auto n) {
      const auto divisor = V::add(one, Math<V>::exp(V::sub(V::zero(), V::load_n(gate + i, n))));
      V::store_n(x + i, V::div(V::load_n(x + i, n), divisor), n);
    });
  }
}

template <class V>
void multiply_rows(const HeadsArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* const x = args.x + m * args.x_stride;
    const float* const y = args.gate + m * args.gate_stride;
    for_each_vector<V>(args.n_heads * args.head_dim, [&](std::int64_t i, auto n) {
      V::store_n(x + i, V::mul(V::load_n(x + i, n), V::load_n(y + i, n)), n);
    });
  }
}

/// kStateColumns columns of one head's matrix S over the rows of an item. Each column is by itself: what S^T k and S^T q add
/// are chains over the rows of S in ascending order, whatever the number of lanes.
template <class V>
struct DeltaColumns {
  static constexpr int kVectors = kStateColumns / V::kLanes;
  using Float = typename V::Float;

  float* state;  ///< [key_dim][kStateColumns]
  std::int64_t key_dim;
  Float sums[kVectors];

  /// S = decay S; sums = S^T k.
  void recall(const float* k, float decay) {
    const Float factor = V::set(decay);
#pragma GCC unroll 32
    for (int j = 0; j < kVectors; ++j) sums[j] = V::zero();
    for (std::int64_t i = 0; i < key_dim; ++i) {
      const Float key = V::set(k[i]);
      float* const row = state + i * kStateColumns;
#pragma GCC unroll 32
      for (int j = 0; j < kVectors; ++j) {
        const Float s = V::mul(V::load(row + j * V::kLanes), factor);
        V::store(row + j * V::kLanes, s);
        sums[j] = V::fma(key, s, sums[j]);
      }
    }
  }

  /// S = S + k (beta (v - sums))^T; sums = S^T q. n: columns that v has.
  void learn(const float* q, const float* k, const float* v, float beta, std::int64_t n) {
    const Float rate = V::set(beta);
    Float delta[kVectors];
#pragma GCC unroll 32
    for (int j = 0; j < kVectors; ++j) {
      delta[j] = V::mul(rate, V::sub(V::load_n(v + j * V::kLanes, n - j * V::kLanes), sums[j]));
      sums[j] = V::zero();
    }
    for (std::int64_t i = 0; i < key_dim; ++i) {
      const Float key = V::set(k[i]), query = V::set(q[i]);
      float* const row = state + i * kStateColumns;
#pragma GCC unroll 32
      for (int j = 0; j < kVectors; ++j) {
        const Float s = V::fma(key, delta[j], V::load(row + j * V::kLanes));
        V::store(row + j * V::kLanes, s);
        sums[j] = V::fma(query, s, sums[j]);
      }
    }
  }

  void store(float* out, std::int64_t n) const {
#pragma GCC unroll 32
    for (int j = 0; j < kVectors; ++j) V::store_n(out + j * V::kLanes, sums[j], n - j * V::kLanes);
  }
};

template <class V>
void gated_delta_rule(const DeltaArgs& args, const DeltaItem& item) {
  const std::int64_t k_size = args.n_key_heads * args.key_dim;
  const std::int64_t n_shared = args.n_heads / args.n_key_heads;
  const std::int64_t key_head = args.is_tiled ? item.head % args.n_key_heads : item.head / n_shared;
  const std::int64_t column = item.head * args.value_dim + item.column_begin;
  const std::int64_t n = min_of(kStateColumns, args.value_dim - item.column_begin);
  if (item.is_fresh) {
    for (std::int64_t i = 0; i < args.key_dim * kStateColumns; i += V::kLanes) V::store(item.state + i, V::zero());
  }
  DeltaColumns<V> columns{.state = item.state, .key_dim = args.key_dim, .sums = {}};
  for (std::int64_t m = item.row; m < item.row + item.n_rows; ++m) {
    const float* const q = args.qkv + m * args.qkv_stride + key_head * args.key_dim;
    const float* const v = args.qkv + m * args.qkv_stride + 2 * k_size + column;
    const float* const gates = args.gates + m * args.gates_stride;
    columns.recall(q + k_size, gates[args.n_heads + item.head]);
    columns.learn(q, q + k_size, v, gates[item.head], n);
    columns.store(args.out + m * args.out_stride + column, n);
  }
}

}  // namespace
}  // namespace lathe::kernels
