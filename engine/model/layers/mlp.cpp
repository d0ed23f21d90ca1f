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

Result<Mlp> Mlp::create(kernels::Backend& backend, const MlpFormats& formats, const ModelConfig& config,
                        const MlpShape& shape) {
  Mlp mlp;
  mlp.is_gated_ = config.is_gated;
  mlp.activation_ = config.activation;
  if (config.is_gated) {
    LATHE_TRY(mlp.gate_, Linear::create(backend, formats.in, up_shape(config, shape)));
  }
  LATHE_TRY(mlp.up_, Linear::create(backend, formats.in, up_shape(config, shape)));
  LATHE_TRY(mlp.down_, Linear::create(backend, formats.out, down_shape(config, shape)));
  return mlp;
}

std::int64_t Mlp::n_bytes(const kernels::Backend& backend, const MlpFormats& formats, const ModelConfig& config,
                          const MlpShape& shape) {
  const std::int64_t up = Linear::n_bytes(backend, formats.in, up_shape(config, shape));
  return (config.is_gated ? 2 : 1) * up + Linear::n_bytes(backend, formats.out, down_shape(config, shape));
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

void Mlp::add_image(WeightImage& image) {
  if (is_gated_) gate_.add_image(image);
  up_.add_image(image);
  down_.add_image(image);
}

void Mlp::forward(kernels::Backend& backend, const kernels::HalfInput& in, const StepBuffers& step) const {
  backend.mlp(step.delta, in,
              {.activation = activation_,
               .gate = is_gated_ ? &gate_.matrix() : nullptr,
               .up = up_.matrix(),
               .down = down_.matrix(),
               .gate_bias = is_gated_ ? gate_.bias() : kernels::TensorView(),
               .up_bias = up_.bias(),
               .down_bias = down_.bias()});
}

}  // namespace lathe::engine
