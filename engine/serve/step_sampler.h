// SPDX-License-Identifier: Apache-2.0
// StepSampler: turns the logits of a step into tokens and log probabilities, with rows in parallel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/run/runner.h"
#include "engine/sample/sampler.h"
#include "engine/schedule/scheduler.h"

namespace lathe::engine {

/// Requires: the sequences of the plan are Generations. Writes only their `sampled`, `pooled`, `alternatives`,
/// `prompt_logprobs` and `prompt_failed`. Thread: the engine's.
class StepSampler {
 public:
  /// `eos_ids`, `suppressed_ids`: of the model; they outlive the sampler.
  StepSampler(Runner& runner, int n_threads, std::span<const std::int32_t> eos_ids,
              std::span<const std::int32_t> suppressed_ids = {});

  void sample(const StepPlan& plan, const StepOutput& output);

 private:
  struct Row {
    const PlannedSequence* entry;
    int number;  ///< index among the entry's rows of logits
  };

  void sample_rows(std::size_t begin, std::size_t end, SamplerScratch& scratch) const;
  void sample_row(const Row& row, std::span<float> logits, SamplerScratch& scratch) const;

  Runner* runner_;
  std::span<const std::int32_t> eos_ids_, suppressed_ids_;
  std::vector<SamplerScratch> scratches_;  ///< one per share of the rows
  std::vector<Row> rows_;                  ///< those that have logits
  kernels::TensorView logits_;
};

}  // namespace lathe::engine
