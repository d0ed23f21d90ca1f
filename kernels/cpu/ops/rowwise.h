// SPDX-License-Identifier: Apache-2.0
// Ops that process each row by itself: norms, RoPE, elementwise sums, gates and maps.
#pragma once

#include "kernels/cpu/ops/lane_sums.h"
#include "kernels/cpu/ops/math.h"
#include "kernels/cpu/table/element_types.h"
#include "kernels/cpu/table/op_table.h"

namespace lathe::kernels {
namespace {

/// Calls body(column, lanes) for all columns of a row, a vector at a time; lanes is AllLanes or, at the end, the number of
/// columns left.
template <class V, class Body>
void for_each_vector(std::int64_t n_columns, const Body& body) {
  std::int64_t i = 0;
  for (; i + V::kLanes <= n_columns; i += V::kLanes) body(i, AllLanes{});
  if (i < n_columns) body(i, n_columns - i);
}

template <class V>
float sum_of_squares(const float* x, std::int64_t n) {
  constexpr int kChains = 4;  // hides the latency of the multiply-add
  LaneSums<V> sums[kChains];
  std::int64_t i = 0;
  for (; i + kChains * kSumLanes <= n; i += kChains * kSumLanes) {
#pragma GCC unroll 4
    for (int c = 0; c < kChains; ++c) sums[c].add_squares(x + i + c * kSumLanes);
  }
  for (; i < n; i += kSumLanes) sums[0].add_squares(x + i, n - i);
  sums[0].add(sums[1]);
  sums[2].add(sums[3]);
  sums[0].add(sums[2]);
  return sums[0].total();
}

template <class V>
void add_row(float* x, const float* delta, std::int64_t n_columns) {
  for_each_vector<V>(n_columns, [&](std::int64_t i, auto n) {
    V::store_n(x + i, V::add(V::load_n(x + i, n), V::load_n(delta + i, n)), n);
  });
}

template <class V>
void rms_norm(const NormArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* x = args.x + m * args.x_stride;
    float* out = args.out + m * args.out_stride;
    if (args.delta != nullptr) add_row<V>(x, args.delta + m * args.delta_stride, args.n);
    const float mean = sum_of_squares<V>(x, args.n) / static_cast<float>(args.n);
    const auto scale = V::set(1.0F / __builtin_sqrtf(mean + args.eps));
    for_each_vector<V>(args.n, [&](std::int64_t i, auto n) {
      const auto scaled = V::mul(V::load_n(x + i, n), scale);
      V::store_n(out + i, V::mul(scaled, V::load_n(args.weight + i, n)), n);
    });
  }
}

/// Computes the mean first, then the squares of the differences: one pass would lose digits where the mean is large.
template <class V>
void layer_norm(const NormArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto n_columns = static_cast<float>(args.n);
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* x = args.x + m * args.x_stride;
    float* out = args.out + m * args.out_stride;
    if (args.delta != nullptr) add_row<V>(x, args.delta + m * args.delta_stride, args.n);
    LaneSums<V> sums;
    for (std::int64_t i = 0; i < args.n; i += kSumLanes) sums.add(x + i, args.n - i);
    const auto mean = V::set(sums.total() / n_columns);
    for_each_vector<V>(args.n, [&](std::int64_t i, auto n) { V::store_n(out + i, V::sub(V::load_n(x + i, n), mean), n); });
    const float variance = sum_of_squares<V>(out, args.n) / n_columns;
    const auto scale = V::set(1.0F / __builtin_sqrtf(variance + args.eps));
    for_each_vector<V>(args.n, [&](std::int64_t i, auto n) {
      auto y = V::mul(V::mul(V::load_n(out + i, n), scale), V::load_n(args.weight + i, n));
      if (args.bias != nullptr) y = V::add(y, V::load_n(args.bias + i, n));
      V::store_n(out + i, y, n);
    });
  }
}

template <class V>
void add(const ElementwiseArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    add_row<V>(args.out + m * args.out_stride, args.up + m * args.in_stride, args.n);
  }
}

/// Activations: of() maps the gate, up_of() the values that the gate is multiplied with. PlainUp leaves those unchanged.
struct PlainUp {
  template <class V>
  static typename V::Float up_of(typename V::Float up) {
    return up;
  }
};
struct Silu : PlainUp {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    return Math<V>::silu(x);
  }
};
struct Gelu : PlainUp {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    return Math<V>::gelu(x);
  }
};
struct GeluTanh : PlainUp {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    return Math<V>::gelu_tanh(x);
  }
};
struct Relu : PlainUp {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    return V::max(V::zero(), x);
  }
};
struct ReluSquared : PlainUp {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    const auto positive = V::max(V::zero(), x);
    return V::mul(positive, positive);
  }
};
struct ClampedSilu {
  template <class V>
  static typename V::Float of(typename V::Float x) {
    const auto y = V::min(V::set(kSwigluLimit), x);
    const auto one = V::set(1.0F);
    return V::div(y, V::add(one, Math<V>::exp(V::mul(y, V::set(-kSwigluAlpha)))));
  }
  template <class V>
  static typename V::Float up_of(typename V::Float up) {
    return V::add(V::min(V::set(kSwigluLimit), V::max(V::set(-kSwigluLimit), up)), V::set(1.0F));
  }
};

template <class V, class Act>
void activate(const ElementwiseArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    const float* gate = args.gate + m * args.in_stride;
    const float* up = args.up != nullptr ? args.up + m * args.in_stride : nullptr;
    float* out = args.out + m * args.out_stride;
    for_each_vector<V>(args.n, [&](std::int64_t i, auto n) {
      auto y = Act::template of<V>(V::load_n(gate + i, n));
      if (up != nullptr) y = V::mul(y, Act::template up_of<V>(V::load_n(up + i, n)));
      V::store_n(out + i, y, n);
    });
  }
}

/// x = map(x) for all elements of some rows.
template <class V, class Map>
void map_rows(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end, const Map& map) {
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* x = args.x + m * args.x_stride;
    for_each_vector<V>(args.n, [&](std::int64_t i, auto n) { V::store_n(x + i, map(V::load_n(x + i, n)), n); });
  }
}

template <class V>
void scale(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto factor = V::set(args.parameter);
  map_rows<V>(args, row_begin, row_end, [&](auto x) { return V::mul(x, factor); });
}

template <class V>
void clamp(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto most = V::set(args.parameter), least = V::set(-args.parameter);
  map_rows<V>(args, row_begin, row_end, [&](auto x) { return V::min(most, V::max(least, x)); });
}

template <class V>
void soft_cap(const MapArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto cap = V::set(args.parameter);
  map_rows<V>(args, row_begin, row_end, [&](auto x) { return V::mul(cap, Math<V>::tanh(V::div(x, cap))); });
}

template <class V>
void scale_by_sigmoid(const SigmoidArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const auto one = V::set(1.0F);
  const auto scaled = [&](auto x, auto gate) { return V::div(x, V::add(one, Math<V>::exp(V::sub(V::zero(), gate)))); };
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    float* const x = args.x + m * args.x_stride;
    const float* const gate = args.gate + m * args.gate_stride;
    if (args.width == 1) {
      for_each_vector<V>(args.n_gates, [&](std::int64_t i, auto n) {
        V::store_n(x + i, scaled(V::load_n(x + i, n), V::load_n(gate + i, n)), n);
      });
      continue;
    }
    for (std::int64_t g = 0; g < args.n_gates; ++g) {
      float* const part = x + g * args.width;
      const auto same = V::set(gate[g]);
      for_each_vector<V>(args.width,
                         [&](std::int64_t i, auto n) { V::store_n(part + i, scaled(V::load_n(part + i, n), same), n); });
    }
  }
}

template <class V>
void rotate_halves(float* x, const float* cos, const float* sin, std::int64_t half) {
  for_each_vector<V>(half, [&](std::int64_t i, auto n) {
    const auto a = V::load_n(x + i, n);
    const auto b = V::load_n(x + half + i, n);
    const auto c = V::load_n(cos + i, n);
    const auto s = V::load_n(sin + i, n);
    V::store_n(x + i, V::fnma(b, s, V::mul(a, c)), n);
    V::store_n(x + half + i, V::fma(a, s, V::mul(b, c)), n);
  });
}

/// Uses no fused multiply-add on any instruction set.
inline void rotate_neighbours(float* x, const float* cos, const float* sin, std::int64_t half) {
  for (std::int64_t i = 0; i < half; ++i) {
    const float a = x[2 * i];
    const float b = x[2 * i + 1];
    x[2 * i] = a * cos[i] - b * sin[i];
    x[2 * i + 1] = b * cos[i] + a * sin[i];
  }
}

template <class V>
void rope(const RopeArgs& args, std::int64_t row_begin, std::int64_t row_end) {
  const std::int64_t half = args.rotary_dim / 2;
  for (std::int64_t m = row_begin; m < row_end; ++m) {
    const float* cos = args.cos + args.positions[m] * args.table_stride;
    const float* sin = args.sin + args.positions[m] * args.table_stride;
    for (int head = 0; head < args.n_heads; ++head) {
      float* x = args.x + m * args.x_stride + static_cast<std::int64_t>(head) * args.head_dim;
      if (args.interleaved) {
        rotate_neighbours(x, cos, sin, half);
      } else {
        rotate_halves<V>(x, cos, sin, half);
      }
    }
  }
}

}  // namespace
}  // namespace lathe::kernels
