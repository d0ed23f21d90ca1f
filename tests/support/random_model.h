// SPDX-License-Identifier: Apache-2.0
// A model with random weights of any config, on a given backend.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/run/model_runner.h"

namespace lathe::tests {

struct RandomModelForm {
  std::string_view config;  ///< config.json
  kernels::Dtype dtype = kernels::Dtype::bf16, kv_dtype = kernels::Dtype::bf16;
  engine::EngineOptions quantization{};  ///< its options of quantization
  int n_blocks = 96, max_rows = 256;     ///< blocks of each of 16 sequences
  /// Limits of the runner in place of these.
  std::function<engine::RunnerLimits(const kernels::Backend&, const engine::ModelConfig&)> limits{};
};

/// The runner of the model, whose logits depend on the form alone, up to roundings of the backend. Errors: those of the
/// backend's memory.
engine::Result<std::unique_ptr<engine::ModelRunner>> random_model(std::unique_ptr<kernels::Backend> backend,
                                                                  const RandomModelForm& form);

}  // namespace lathe::tests
