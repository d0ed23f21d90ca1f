// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/gated_mlp.h"

namespace lathe::engine {

namespace {

LinearShape gate_up_shape(const ModelConfig& config) {
  return {2 * config.intermediate_size, config.hidden_size, config.mlp_bias};
}

LinearShape down_shape(const ModelConfig& config) { return {config.hidden_size, config.intermediate_size, config.mlp_bias}; }

}  // namespace

Result<GatedMlp> GatedMlp::create(kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  GatedMlp mlp;
  LATHE_TRY(mlp.gate_up_, Linear::create(backend, format, gate_up_shape(config)));
  LATHE_TRY(mlp.down_, Linear::create(backend, format, down_shape(config)));
  return mlp;
}

std::int64_t GatedMlp::n_bytes(const kernels::Backend& backend, kernels::WeightFormat format, const ModelConfig& config) {
  return Linear::n_bytes(backend, format, gate_up_shape(config)) + Linear::n_bytes(backend, format, down_shape(config));
}

void GatedMlp::forward(kernels::Backend& backend, const StepBuffers& step) const {
  gate_up_.forward(backend, step.gate_up, step.normed);
  backend.silu_mul(step.mlp, step.gate_up);
  down_.forward(backend, step.delta, step.mlp);
}

}  // namespace lathe::engine
