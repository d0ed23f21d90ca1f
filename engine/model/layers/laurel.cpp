// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/laurel.h"

namespace lathe::engine {

Laurel::Laurel(kernels::WeightFormat format, const ModelConfig& config)
    : left_(format, LinearShape{config.altup.laurel_rank, config.hidden_size, false}),
      right_(format, LinearShape{config.hidden_size, config.altup.laurel_rank, false}),
      norm_(config.norm, config.hidden_size) {}

bool Laurel::accept(kernels::Backend& backend, WeightRole role, const kernels::TensorView& source) {
  switch (role) {
    case WeightRole::laurel_left: left_.load_rows(backend, 0, source); return true;
    case WeightRole::laurel_right: right_.load_rows(backend, 0, source); return true;
    case WeightRole::laurel_norm: norm_.load_weight(backend, source); return true;
    default: return false;
  }
}

void Laurel::forward(kernels::Backend& backend, const kernels::TensorView& x, const StepBuffers& step) const {
  left_.forward(backend, step.laurel, x);
  right_.forward(backend, step.delta, step.laurel);
  backend.norm(step.delta, step.delta, norm_.view());
  backend.add(step.delta, x);
}

}  // namespace lathe::engine
