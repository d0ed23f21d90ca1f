// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/sampler.h"

#include <algorithm>

#include "engine/sample/random.h"
#include "engine/sample/softmax.h"
#include "engine/sample/stage.h"
#include "engine/sample/top_k_ids.h"

namespace lathe::engine {
namespace {

constexpr double kGreedyBelow = 1e-5;  // vLLM's bound

TokenLogprob entry_of(std::span<const float> logits, std::int32_t id, double log_total) {
  return {id, static_cast<float>(logits[id] - log_total), count_at_least(logits, logits[id])};
}

/// Equal logits share the rank of the last of them. Only the last entry may have equals beyond the k best, so only it is
/// counted.
void append_best(std::span<const float> logits, std::int64_t k, double log_total, SamplerScratch& scratch,
                 LogprobList& out) {
  top_k_ids(logits, k > 0 ? static_cast<std::size_t>(k) : 0, scratch.best);
  if (scratch.best.empty()) return;
  const std::size_t begin = out.size();
  out.resize(begin + scratch.best.size());
  for (std::size_t i = scratch.best.size(); i-- > 0;) {
    const std::int32_t id = scratch.best[i];
    const bool is_last = i + 1 == scratch.best.size();
    const std::int32_t rank = is_last                                     ? count_at_least(logits, logits[id])
                              : logits[id] == logits[scratch.best[i + 1]] ? out[begin + i + 1].rank
                                                                          : static_cast<std::int32_t>(i + 1);
    out[begin + i] = {id, static_cast<float>(logits[id] - log_total), rank};
  }
}

double log_total_of(std::span<const float> logits) { return log_sum_exp(logits, best_logit(logits).value); }

void run_stages(SampleState& state, StagePhase phase) {
  for (const SampleStage* stage : sample_stages()) {
    if (stage->phase == phase && stage->applies(state.input)) stage->apply(state);
  }
}

/// Draws the token for this position of the answer.
std::int32_t draw(SampleState& state) {
  const std::span<const float> logits = state.candidate_logits();
  state.scratch.values.resize(logits.size());
  const double total = exponentiate(logits, state.best, state.scratch.values);
  const double target = uniform_at(state.input.seed, state.input.output_token_ids.size()) * total;
  return state.candidate_id(index_at_mass(state.scratch.values, target));
}

}  // namespace

SampleOutput sample_token(const SampleInput& input, SamplerScratch& scratch, LogprobList* alternatives) {
  const SamplingParams& params = *input.params;
  double log_total = 0;
  if (params.logprobs) {  // the stages change the logits in place, so the raw ones are read first
    const BestLogit raw_best = best_logit(input.logits);
    if (!raw_best.usable) return {.failed = true};
    log_total = log_sum_exp(input.logits, raw_best.value);
    scratch.raw.assign(input.logits.begin(), input.logits.end());
    if (alternatives != nullptr) {
      alternatives->clear();
      append_best(scratch.raw, *params.logprobs, log_total, scratch, *alternatives);
    }
  }
  SampleState state{.input = input, .scratch = scratch};
  run_stages(state, StagePhase::logits);
  const BestLogit best = best_logit(input.logits);
  if (!best.usable) return {.failed = true};
  SampleOutput output{.token = best.id};
  state.best = best.value;
  if (params.temperature >= kGreedyBelow) {
    run_stages(state, StagePhase::candidates);
    output.token = draw(state);
  }
  if (params.logprobs) {
    const TokenLogprob chosen = entry_of(scratch.raw, output.token, log_total);
    output.logprob = chosen.logprob;
    output.rank = chosen.rank;
  }
  return output;
}

bool takes_best(const SamplingParams& params) {
  const SampleInput first_token{
      .logits = {}, .prompt_token_ids = {}, .output_token_ids = {}, .eos_ids = {}, .params = &params};
  const auto changes_the_best = [&](const SampleStage* stage) {
    return stage->phase == StagePhase::logits && stage->applies(first_token);
  };
  const auto stages = sample_stages();
  return params.temperature < kGreedyBelow && !params.logprobs &&
         std::none_of(stages.begin(), stages.end(), changes_the_best);
}

bool prompt_logprobs(std::span<const float> logits, std::int32_t actual, std::int64_t k, SamplerScratch& scratch,
                     LogprobList& out) {
  out.clear();
  const BestLogit best = best_logit(logits);
  if (!best.usable) return false;
  const double log_total = log_sum_exp(logits, best.value);
  out.push_back(entry_of(logits, actual, log_total));
  append_best(logits, k, log_total, scratch, out);
  return true;
}

void top_logprobs(std::span<const float> logits, std::int64_t k, SamplerScratch& scratch, LogprobList& out) {
  out.clear();
  append_best(logits, k, log_total_of(logits), scratch, out);
}

}  // namespace lathe::engine
