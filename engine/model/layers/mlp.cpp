// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/mlp.h"

#include <cmath>

#include "engine/base/normal_distribution.h"
#include "engine/model/layers/host_activation.h"
#include "engine/model/layers/prepared_rows.h"

namespace lathe::engine {

namespace {

LinearShape up_shape(const ModelConfig& config, const MlpShape& shape) {
  return {shape.inner, config.hidden_size, shape.bias};
}
LinearShape down_shape(const ModelConfig& config, const MlpShape& shape) {
  return {config.hidden_size, shape.inner, shape.bias};
}

/// gate = act(max(0, gate - mean - cutoff * deviation)) * up.
void gate_sparsely(float* gate, const float* up, std::int64_t n, double cutoff, kernels::Activation activation) {
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += gate[i];
  const double mean = sum / static_cast<double>(n);
  for (std::int64_t i = 0; i < n; ++i) squares += (gate[i] - mean) * (gate[i] - mean);
  const auto least = static_cast<float>(mean + cutoff * std::sqrt(squares / static_cast<double>(n)));
  for (std::int64_t i = 0; i < n; ++i) gate[i] = gate[i] > least ? activated(activation, gate[i] - least) * up[i] : 0;
}

}  // namespace

Mlp::Mlp(const MlpFormats& formats, const ModelConfig& config, const MlpShape& shape)
    : is_gated_(config.is_gated),
      activation_(config.activation),
      up_(formats.in, up_shape(config, shape)),
      down_(formats.out, down_shape(config, shape)) {
  if (is_gated_) gate_ = Linear(formats.in, up_shape(config, shape));
  if (shape.sparsity > 0) cutoff_ = normal_quantile(shape.sparsity);
}

std::vector<Linear*> Mlp::matrices_of(WeightRole role) {
  switch (role) {
    case WeightRole::gate:
    case WeightRole::expert_gate:
    case WeightRole::shared_gate: return {&gate_};
    case WeightRole::up:
    case WeightRole::expert_up:
    case WeightRole::shared_up: return {&up_};
    case WeightRole::gate_up:
    case WeightRole::expert_gate_up: return {&gate_, &up_};
    case WeightRole::down:
    case WeightRole::expert_down:
    case WeightRole::shared_down: return {&down_};
    default: return {};
  }
}

kernels::MlpWeights Mlp::weights() const {
  return {.activation = activation_,
          .gate = is_gated_ ? &gate_.matrix() : nullptr,
          .up = up_.matrix(),
          .down = down_.matrix(),
          .gate_bias = is_gated_ ? gate_.bias() : kernels::TensorView(),
          .up_bias = up_.bias(),
          .down_bias = down_.bias()};
}

void Mlp::forward(kernels::Backend& backend, const kernels::HalfInput& in, const StepBuffers& step) const {
  if (cutoff_ != 0) return forward_sparse(backend, prepared_rows(backend, in), step);
  backend.mlp(step.delta, in, weights());
}

void Mlp::forward_sparse(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const {
  const kernels::TensorView gate = narrowed(step.mlp_gate, up_.matrix().n()), up = narrowed(step.mlp_up, up_.matrix().n());
  gate_.forward(backend, gate, x);
  up_.forward(backend, up, x);
  backend.parallel_for(gate.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      gate_sparsely(gate.row<float>(row), up.row<float>(row), gate.dim(1), cutoff_, activation_);
    }
  });
  down_.forward(backend, step.delta, gate);
}

}  // namespace lathe::engine
