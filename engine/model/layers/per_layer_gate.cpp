// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/per_layer_gate.h"

#include "engine/model/layers/host_activation.h"

namespace lathe::engine {

using kernels::TensorView;

PerLayerGate::PerLayerGate(kernels::WeightFormat format, const ModelConfig& config)
    : activation_(config.activation),
      gate_(format, {config.per_layer.size, config.hidden_size, false}),
      proj_(format, {config.hidden_size, config.per_layer.size, false}),
      norm_(config.norm, config.hidden_size) {}

bool PerLayerGate::accept(kernels::Backend& backend, WeightRole role, const TensorView& source) {
  switch (role) {
    case WeightRole::per_layer_gate: gate_.load_rows(backend, 0, source); return true;
    case WeightRole::per_layer_proj: proj_.load_rows(backend, 0, source); return true;
    case WeightRole::per_layer_norm: norm_.load_weight(backend, source); return true;
    default: return false;
  }
}

void PerLayerGate::forward(kernels::Backend& backend, const TensorView& token_input, const StepBuffers& step) const {
  const TensorView& gate = step.token_gate;
  gate_.forward(backend, gate, step.residual);
  backend.parallel_for(gate.dim(0), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* const to = gate.row<float>(row);
      const float* const input = token_input.row<float>(row);
      for (std::int64_t i = 0; i < gate.dim(1); ++i) to[i] = activated(activation_, to[i]) * input[i];
    }
  });
  proj_.forward(backend, step.delta, gate);
  backend.norm(step.delta, step.delta, norm_.view());
}

}  // namespace lathe::engine
