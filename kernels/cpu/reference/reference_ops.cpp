// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/reference/reference_ops.h"

#include <cmath>
#include <vector>

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

void rms_norm(const TensorView& out, const TensorView& x, const TensorView& weight, float eps) {
  const std::int64_t n = x.dim(1);
  for (std::int64_t m = 0; m < x.dim(0); ++m) {
    const float* in = x.row<float>(m);
    double sum = 0;
    for (std::int64_t h = 0; h < n; ++h) sum += static_cast<double>(in[h]) * in[h];
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(n) + eps);
    for (std::int64_t h = 0; h < n; ++h) out.row<float>(m)[h] = static_cast<float>(in[h] * scale * weight.as<float>()[h]);
  }
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

void silu_mul(const TensorView& out, const TensorView& gate, const TensorView& up) {
  for (std::int64_t m = 0; m < out.dim(0); ++m) {
    for (std::int64_t i = 0; i < out.dim(1); ++i) {
      const double g = gate.row<float>(m)[i];
      out.row<float>(m)[i] = static_cast<float>(g / (1.0 + std::exp(-g)) * up.row<float>(m)[i]);
    }
  }
}

void gather_rows(const TensorView& out, const TensorView& x, std::span<const std::int32_t> rows) {
  for (std::int64_t i = 0; i < out.dim(0); ++i) {
    const std::int64_t source = rows[static_cast<std::size_t>(i)];
    LATHE_CHECK(source >= 0 && source < x.dim(0));
    for (std::int64_t h = 0; h < out.dim(1); ++h) out.row<float>(i)[h] = x.row<float>(source)[h];
  }
}

}  // namespace lathe::kernels::reference
