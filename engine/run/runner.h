// SPDX-License-Identifier: Apache-2.0
// Runner: turns a BatchPlan into logits. The scheduler's only view of a model, so tests and simulations bring their own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "engine/api/result.h"
#include "engine/cache/window_group.h"
#include "engine/schedule/batch_plan.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// What every policy and the sampler must know of the model behind a runner.
struct RunnerLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_model_len = 0;
  int block_size = 16;
  int n_blocks = 0;
  int max_rows = 0;                           ///< rows of one step
  int max_logit_rows = 0;                     ///< of them with logits
  std::int64_t window = 0;                    ///< tokens that a row sees in every layer; 0: some sees all that there can be
  std::vector<WindowPool> windows{};          ///< blocks of the layers that see less than others; n_blocks are the others'
  std::vector<std::int64_t> rope_contexts{};  ///< what sequences choose among: rope_config.h; none: there is one way
};

/// Thread: the engine's.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual const RunnerLimits& limits() const = 0;
  /// Logits [plan.logit_rows.size(), vocab_size] f32, valid until the next run; the caller may change them in place.
  /// Errors: internal; the step's requests fail and the engine goes on.
  virtual Result<kernels::TensorView> run(const BatchPlan& plan) = 0;
  /// Host work on the runner's threads (sampling rows).
  virtual void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
};

}  // namespace lathe::engine
