// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/step_sampler.h"

#include <algorithm>
#include <cmath>

#include "engine/serve/generation.h"

namespace lathe::engine {
namespace {

/// Copies a row of states. A runner without states, or a state that is not finite, fails the request.
void take_state(Generation& generation, const kernels::TensorView& states, std::int64_t row) {
  generation.pooled.clear();
  if (states.n_elements() > 0 && states.rank == 2) {
    const std::span<const float> state(states.row<float>(row), static_cast<std::size_t>(states.dim(1)));
    generation.pooled.assign(state.begin(), state.end());
  }
  const bool is_finite = std::ranges::all_of(generation.pooled, [](float x) { return std::isfinite(x); });
  generation.sampled = {.failed = generation.pooled.empty() || !is_finite};
}

}  // namespace

StepSampler::StepSampler(Runner& runner, int n_threads, std::span<const std::int32_t> eos_ids,
                         std::span<const std::int32_t> suppressed_ids)
    : runner_(&runner),
      eos_ids_(eos_ids),
      suppressed_ids_(suppressed_ids),
      scratches_(static_cast<std::size_t>(std::max(1, n_threads))) {
  rows_.reserve(static_cast<std::size_t>(runner.limits().max_logit_rows));
}

void StepSampler::sample(const StepPlan& plan, const StepOutput& output) {
  rows_.clear();
  for (const PlannedSequence& entry : plan.entries) {
    for (int i = 0; i < entry.n_logits; ++i) {
      const auto row = static_cast<std::size_t>(entry.first_logit + i);
      if (plan.batch().takes_state[row] != 0) {
        take_state(static_cast<Generation&>(*entry.sequence), output.states, entry.first_logit + i);
      } else if (!output.best.empty() && plan.batch().takes_best[row] != 0) {
        const std::int32_t token = output.best[row];
        static_cast<Generation&>(*entry.sequence).sampled = {.token = token, .failed = token < 0};
      } else {
        rows_.push_back({.entry = &entry, .number = i});
      }
    }
  }
  if (rows_.empty()) return;
  logits_ = output.logits;
  // Each share of the rows has its own scratch memory and belongs to one thread at a time.
  runner_->parallel_for(static_cast<std::int64_t>(scratches_.size()), [this](std::int64_t begin, std::int64_t end) {
    const std::size_t n_shares = scratches_.size();
    for (auto share = static_cast<std::size_t>(begin); share < static_cast<std::size_t>(end); ++share) {
      sample_rows(rows_.size() * share / n_shares, rows_.size() * (share + 1) / n_shares, scratches_[share]);
    }
  });
}

void StepSampler::sample_rows(std::size_t begin, std::size_t end, SamplerScratch& scratch) const {
  const auto vocab_size = static_cast<std::size_t>(logits_.dim(1));
  for (std::size_t i = begin; i < end; ++i) {
    const std::int64_t row = rows_[i].entry->first_logit + rows_[i].number;
    sample_row(rows_[i], std::span(logits_.row<float>(row), vocab_size), scratch);
  }
}

void StepSampler::sample_row(const Row& row, std::span<float> logits, SamplerScratch& scratch) const {
  auto& generation = static_cast<Generation&>(*row.entry->sequence);
  const bool is_last = row.number + 1 == row.entry->n_logits;
  if (row.entry->samples && is_last) {
    const SampleInput input{.logits = logits,
                            .prompt_token_ids = generation.prompt_ids(),
                            .output_token_ids = generation.output_ids(),
                            .eos_ids = eos_ids_,
                            .suppressed_ids = suppressed_ids_,
                            .params = &generation.params,
                            .seed = generation.seed,
                            .allowed = generation.constraint ? generation.constraint->allowed() : nullptr};
    generation.sampled = sample_token(input, scratch, generation.params.logprobs ? &generation.alternatives : nullptr);
    if (generation.constraint && !generation.sampled.failed) generation.constraint->accept(generation.sampled.token);
    return;
  }
  // A prompt row predicts the token after it.
  const auto predicted =
      static_cast<std::size_t>(std::max(generation.n_prompt_logits, generation.n_computed) + row.number + 1);
  if (!prompt_logprobs(logits, generation.tokens[predicted], *generation.params.prompt_logprobs, scratch,
                       generation.prompt_logprobs[predicted])) {
    generation.prompt_failed.store(true, std::memory_order_relaxed);
  }
}

}  // namespace lathe::engine
