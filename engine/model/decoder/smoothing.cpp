// SPDX-License-Identifier: Apache-2.0
#include "engine/model/decoder/smoothing.h"

#include <algorithm>
#include <cmath>

#include "engine/model/layers/device_tensor.h"

namespace lathe::engine {

using kernels::Dtype;
using kernels::TensorView;

namespace {

constexpr float kSmallest = 1e-5F;
// Elements that are converted at a time; bounds the memory in addition to the tensor.
constexpr std::int64_t kFloatsAtATime = 1LL << 20;
// Columns of one work item of a thread.
constexpr std::int64_t kStripe = 256;

bool is_norm_bias(WeightRole role) { return role == WeightRole::attention_norm_bias || role == WeightRole::mlp_norm_bias; }

/// Calls body(begin, end) for stripes of columns, on the backend's threads.
template <class Body>
void for_stripes(kernels::Backend& backend, std::int64_t n_columns, const Body& body) {
  backend.parallel_for((n_columns + kStripe - 1) / kStripe, [&](std::int64_t begin, std::int64_t end) {
    body(begin * kStripe, std::min(end * kStripe, n_columns));
  });
}

}  // namespace

bool can_smooth(const ModelConfig& config) {
  const bool has_norms_before = config.norm_place == NormPlace::before || config.norm_place == NormPlace::around;
  const bool has_like_layers = !config.has_sizes_by_layer() && !config.per_layer.exists() && !config.has_layer_scalar;
  const bool has_other_inputs =
      config.latent.exists() || config.has_output_gate || config.has_recurrent_layers() || config.has_chunks;
  return has_norms_before && has_like_layers && !config.is_parallel() && config.moe.n_experts == 0 && !has_other_inputs;
}

std::span<const float> Smoothing::factors_of(WeightRole role, std::int64_t layer) const {
  if (layers.empty() || layer < 0) return {};
  const LayerSmoothing& of_layer = layers[static_cast<std::size_t>(layer)];
  switch (role) {
    case WeightRole::attention_norm:
    case WeightRole::attention_norm_bias:
    case WeightRole::q:
    case WeightRole::k:
    case WeightRole::v:
    case WeightRole::qkv:
    case WeightRole::attention_gate: return of_layer.attention;
    case WeightRole::mlp_norm:
    case WeightRole::mlp_norm_bias:
    case WeightRole::gate:
    case WeightRole::up:
    case WeightRole::gate_up: return of_layer.mlp;
    default: return {};
  }
}

TensorView Smoothing::applied(kernels::Backend& backend, const PlannedWeight& weight, const TensorView& source,
                              std::vector<float>& memory) const {
  const std::span<const float> factors = factors_of(weight.role, weight.layer);
  if (factors.empty()) return source;
  memory.resize(static_cast<std::size_t>(source.n_elements()));
  TensorView smooth = source;
  smooth.data = memory.data();
  smooth.dtype = Dtype::f32;
  copy_converted(backend, smooth, source);
  const bool is_norm = source.rank == 1;
  // A norm that computes 1 + w stores w' with 1 + w' = (1 + w) / s.
  const float whole = is_norm && plus_one && !is_norm_bias(weight.role) ? 1.0F : 0.0F;
  const std::int64_t n_rows = is_norm ? 1 : source.dim(0);
  const auto n = static_cast<std::int64_t>(factors.size());
  backend.parallel_for(n_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* const numbers = memory.data() + row * n;
      for (std::int64_t j = 0; j < n; ++j) {
        const float s = factors[static_cast<std::size_t>(j)];
        numbers[j] = is_norm ? (numbers[j] + whole) / s - whole : numbers[j] * s;
      }
    }
  });
  return smooth;
}

std::vector<float> smoothing_factors(std::span<const float> largest_x, std::span<const float> largest_weight, double alpha) {
  LATHE_CHECK(largest_x.size() == largest_weight.size());
  std::vector<float> factors(largest_x.size());
  for (std::size_t j = 0; j < factors.size(); ++j) {
    const double x = std::max(largest_x[j], kSmallest), weight = std::max(largest_weight[j], kSmallest);
    factors[j] = std::max(static_cast<float>(std::pow(x, alpha) / std::pow(weight, 1 - alpha)), kSmallest);
  }
  return factors;
}

void raise_to_magnitudes(kernels::Backend& backend, const TensorView& source, std::span<float> largest) {
  const std::int64_t n_rows = source.dim(0), k = source.dim(1);
  const std::int64_t rows_at_a_time = std::clamp<std::int64_t>(kFloatsAtATime / k, 1, n_rows);
  std::vector<float> wide(static_cast<std::size_t>(rows_at_a_time * k));
  for (std::int64_t first = 0; first < n_rows; first += rows_at_a_time) {
    const std::int64_t count = std::min(rows_at_a_time, n_rows - first);
    const TensorView some(wide.data(), Dtype::f32, {count, k});
    copy_converted(backend, some, source.rows(first, count));
    for_stripes(backend, k, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = 0; row < count; ++row) {
        const float* const numbers = some.row<float>(row);
        for (std::int64_t j = begin; j < end; ++j) {
          float& most = largest[static_cast<std::size_t>(j)];
          most = std::max(most, std::fabs(numbers[j]));
        }
      }
    });
  }
}

}  // namespace lathe::engine
