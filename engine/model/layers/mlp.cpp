// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/mlp.h"

namespace lathe::engine {

namespace {

LinearShape up_shape(const ModelConfig& config, const MlpShape& shape) {
  return {shape.inner, config.hidden_size, shape.bias};
}
LinearShape down_shape(const ModelConfig& config, const MlpShape& shape) {
  return {config.hidden_size, shape.inner, shape.bias};
}

}  // namespace

Mlp::Mlp(const MlpFormats& formats, const ModelConfig& config, const MlpShape& shape)
    : is_gated_(config.is_gated),
      activation_(config.activation),
      up_(formats.in, up_shape(config, shape)),
      down_(formats.out, down_shape(config, shape)) {
  if (is_gated_) gate_ = Linear(formats.in, up_shape(config, shape));
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
  backend.mlp(step.delta, in, weights());
}

}  // namespace lathe::engine
