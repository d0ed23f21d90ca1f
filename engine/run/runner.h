// SPDX-License-Identifier: Apache-2.0
// Runner: turns a BatchPlan into logits, or into the best tokens where these suffice. The scheduler's only view of a model,
// so tests and simulations bring their own.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/api/result.h"
#include "engine/cache/window_group.h"
#include "engine/schedule/batch_plan.h"
#include "kernels/api/tensor.h"

namespace lathe::engine {

/// Limits of the model behind a runner that every policy and the sampler must know.
struct RunnerLimits {
  std::int64_t vocab_size = 0;
  std::int64_t max_model_len = 0;
  int block_size = 16;
  int n_blocks = 0;
  int max_rows = 0;                   ///< rows of one step
  int max_logit_rows = 0;             ///< rows of one step that may have logits
  std::int64_t window = 0;            ///< longest window, if each layer has one and it is below max_model_len; else 0
  std::vector<WindowPool> windows{};  ///< window groups; n_blocks is that of the primary group
  int n_state_slots = 0;              ///< sequences that have a state at once; 0: no layer is recurrent
  int n_snapshots = 0;                ///< snapshots of states; they have the slots after those of sequences
  std::int64_t state_slot_bytes = 0;  ///< bytes of a slot in all recurrent layers
  std::vector<std::int64_t> rope_contexts{};  ///< contexts among which sequences choose (rope_config.h); empty: no choice
};

/// Results of a step for its R rows of logits, valid until the next run.
struct StepOutput {
  kernels::TensorView
      logits;  ///< [R, vocab_size] f32; the caller may change them. Rows that have a best token are undefined
  /// [R]: for rows with BatchPlan::takes_best the token of the largest logit, the lowest one of equals; -1: a logit is NaN
  /// or +infinity, or none is above -infinity. Other rows are undefined. Empty: no row has one.
  std::span<const std::int32_t> best{};
  /// [R, H] f32: for rows with BatchPlan::takes_state the hidden state after the final norm; of a model without a head the
  /// pooled state of the row's text. Other rows are undefined. Without elements: no row has one.
  kernels::TensorView states{};
};

/// Thread: the engine's.
class Runner {
 public:
  virtual ~Runner() = default;
  virtual const RunnerLimits& limits() const = 0;
  /// Computes the rows of a step. A runner whose logits are in the memory of a device has the best tokens computed there.
  /// Errors: unavailable if the device is lost: the engine ends all requests and takes no more. Any other error fails the
  /// requests of the step, and the engine goes on.
  virtual Result<StepOutput> run(const BatchPlan& plan) = 0;
  /// Runs host work (sampling rows) on the runner's threads.
  virtual void parallel_for(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) = 0;
};

}  // namespace lathe::engine
