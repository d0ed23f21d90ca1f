// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reference/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "kernels/cpu/table/op_table.h"
#include "kernels/formats/element.h"

namespace lathe::kernels::reference {

void embed(const TensorView& out, const TensorView& table, std::span<const std::int32_t> ids) {
  for (std::int64_t m = 0; m < out.dim(0); ++m) {
    const std::int64_t id = ids[static_cast<std::size_t>(m)];
    LATHE_CHECK(id >= 0 && id < table.dim(0));
    for (std::int64_t h = 0; h < out.dim(1); ++h) {
      out.row<float>(m)[h] = load_element(table.data, table.dtype, id * table.strides[0] + h);
    }
  }
}

namespace {

/// out [n] = the normalised x [n]. weight, bias: [n]; bias may be null.
void norm_row(float* out, const float* x, std::int64_t n, const Norm& norm, const float* weight, const float* bias) {
  const auto count = static_cast<double>(n);
  double mean = 0;
  if (norm.kind == NormKind::layer) {
    for (std::int64_t i = 0; i < n; ++i) mean += x[i] / count;
  }
  double square = 0;
  for (std::int64_t i = 0; i < n; ++i) square += (x[i] - mean) * (x[i] - mean) / count;
  const double scale = 1.0 / std::sqrt(square + norm.eps);
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = static_cast<float>((x[i] - mean) * scale * weight[i] + (bias != nullptr ? bias[i] : 0.0));
  }
}

/// x = map(x) for every element.
template <class Map>
void map_all(const TensorView& x, const Map& map) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    float* const row = x.row<float>(m);
    for (std::int64_t i = 0; i < x.dim(1); ++i) row[i] = static_cast<float>(map(static_cast<double>(row[i])));
  }
}

double activated(double x, Activation activation) {
  switch (activation) {
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::gelu: return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
    case Activation::gelu_tanh: {
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      return 0.5 * x * (1 + std::tanh(inner));
    }
    case Activation::relu: return std::max(x, 0.0);
    case Activation::clamped_silu: {
      const double y = std::min<double>(x, kSwigluLimit);
      return y / (1 + std::exp(-kSwigluAlpha * y));
    }
    case Activation::relu_squared: return x > 0 ? x * x : 0;
  }
  return x;
}

}  // namespace

void norm(const TensorView& out, const TensorView& x, const Norm& norm) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    norm_row(out.row<float>(m), x.row<float>(m), x.dim(1), norm, norm.weight.as<float>(), norm.bias.as<float>());
  }
}

void norm_heads(const TensorView& x, int n_heads, const Norm& norm) {
  const std::int64_t head_dim = x.dim(1) / n_heads;
  const bool is_shared = norm.weight.n_elements() == head_dim;
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (int head = 0; head < n_heads; ++head) {
      float* const numbers = x.row<float>(m) + head * head_dim;
      const std::int64_t own = is_shared ? 0 : head * head_dim;
      const float* const bias = norm.bias.as<float>();
      norm_row(numbers, numbers, head_dim, norm, norm.weight.as<float>() + own, bias != nullptr ? bias + own : nullptr);
    }
  }
}

void scale(const TensorView& x, float factor) {
  map_all(x, [&](double number) { return number * factor; });
}

void clamp(const TensorView& x, float limit) {
  map_all(x, [&](double number) { return std::clamp<double>(number, -limit, limit); });
}

void soft_cap(const TensorView& x, float cap) {
  map_all(x, [&](double number) { return cap * std::tanh(number / cap); });
}

void scale_by_sigmoid(const TensorView& x, const TensorView& gate) {
  const std::int64_t width = x.dim(1) / gate.dim(1);
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t i = 0; i < x.dim(1); ++i) {
      float& number = x.row<float>(m)[i];
      number = static_cast<float>(number / (1 + std::exp(-static_cast<double>(gate.row<float>(m)[i / width]))));
    }
  }
}

void activate(const TensorView& x, Activation activation) {
  map_all(x, [&](double number) { return activated(number, activation); });
}

void prepare_gated(const TensorView& up, Activation activation) {
  if (activation != Activation::clamped_silu) return;
  map_all(up, [](double number) { return std::clamp<double>(number, -kSwigluLimit, kSwigluLimit) + 1; });
}

void add(const TensorView& x, const TensorView& delta) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t h = 0; h < x.dim(1); ++h) x.row<float>(m)[h] += delta.row<float>(m)[h];
  }
}

void linear(const TensorView& out, const TensorView& x, const TensorView& weights, const TensorView& bias) {
  const std::int64_t k = weights.dim(1);
  std::vector<double> weight(static_cast<std::size_t>(k));
  for (std::int64_t n = 0; n < weights.dim(0); ++n) {
    for (std::int64_t i = 0; i < k; ++i)
      weight[static_cast<std::size_t>(i)] = load_element(weights.data, weights.dtype, n * k + i);
    for (std::int64_t m = 0; m < x.dim(0); ++m) {
      double sum = bias.data != nullptr ? bias.as<float>()[n] : 0.0;
      for (std::int64_t i = 0; i < k; ++i) sum += x.row<float>(m)[i] * weight[static_cast<std::size_t>(i)];
      out.row<float>(m)[n] = static_cast<float>(sum);
    }
  }
}

void rope(const TensorView& x, int n_heads, int head_dim, int rotary_dim, std::span<const std::int32_t> positions,
          const TensorView& cos, const TensorView& sin, RopeStyle style) {
  const int half = rotary_dim / 2;
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    const std::int32_t position = positions[static_cast<std::size_t>(m)];
    LATHE_CHECK(position >= 0 && position < cos.dim(0));
    for (int head = 0; head < n_heads; ++head) {
      float* v = x.row<float>(m) + static_cast<std::int64_t>(head) * head_dim;
      for (int i = 0; i < half; ++i) {
        float& a = style == RopeStyle::half ? v[i] : v[2 * i];
        float& b = style == RopeStyle::half ? v[i + half] : v[2 * i + 1];
        const double c = cos.row<float>(position)[i];
        const double s = sin.row<float>(position)[i];
        const double turned_a = a * c - b * s;
        const double turned_b = b * c + a * s;
        a = static_cast<float>(turned_a);
        b = static_cast<float>(turned_b);
      }
    }
  }
}

void multiply(const TensorView& x, const TensorView& y) {
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    for (std::int64_t i = 0; i < x.dim(1); ++i) x.row<float>(m)[i] *= y.row<float>(m)[i];
  }
}

void add_rows(const TensorView& out, std::span<const std::int32_t> rows, const TensorView& x,
              std::span<const float> factors) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LATHE_CHECK(rows[i] >= 0 && rows[i] < out.dim(0));
    const float* const from = x.row<float>(static_cast<std::int64_t>(i));
    for (std::int64_t h = 0; h < x.dim(1); ++h) out.row<float>(rows[i])[h] += factors[i] * from[h];
  }
}

void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  for (std::int64_t i = 0; i < out.dim(0); ++i) {
    const std::int64_t source = rows[static_cast<std::size_t>(i)];
    LATHE_CHECK(source >= 0 && source < x.dim(0));
    for (std::int64_t h = 0; h < out.dim(1); ++h) out.row<float>(i)[h] = x.row<float>(source)[h];
  }
}

void gather_columns(const TensorView& out, const TensorView& x, std::span<const std::int32_t> columns) {
  for (std::int64_t m = 0; m < out.dim(0); ++m) {
    for (std::int64_t i = 0; i < out.dim(1); ++i) {
      const std::int64_t source = columns[static_cast<std::size_t>(i)];
      LATHE_CHECK(source >= 0 && source < x.dim(1));
      out.row<float>(m)[i] = x.row<float>(m)[source];
    }
  }
}

}  // namespace lathe::kernels::reference
