// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/gated_mlp.h"

namespace lathe::engine {

namespace {

LinearShape gate_shape(const ModelConfig& config) { return {config.intermediate_size, config.hidden_size, config.mlp_bias}; }

LinearShape down_shape(const ModelConfig& config) { return {config.hidden_size, config.intermediate_size, config.mlp_bias}; }

}  // namespace

Result<GatedMlp> GatedMlp::create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  GatedMlp mlp;
  LATHE_TRY(mlp.gate_, Linear::create(backend, format, gate_shape(config)));
  LATHE_TRY(mlp.up_, Linear::create(backend, format, gate_shape(config)));
  LATHE_TRY(mlp.down_, Linear::create(backend, format, down_shape(config)));
  return mlp;
}

std::int64_t GatedMlp::n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  return 2 * Linear::n_bytes(backend, format, gate_shape(config)) + Linear::n_bytes(backend, format, down_shape(config));
}

void GatedMlp::forward(kernels::Backend& backend, const StepBuffers& step) const {
  backend.gated_mlp(step.delta, step.normed,
                    {.gate = gate_.matrix(),
                     .up = up_.matrix(),
                     .down = down_.matrix(),
                     .gate_bias = gate_.bias(),
                     .up_bias = up_.bias(),
                     .down_bias = down_.bias()});
}

}  // namespace lathe::engine
