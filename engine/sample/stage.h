// SPDX-License-Identifier: Apache-2.0
// A stage of the sampler: one sampling parameter, applied to a row of logits or to the remaining candidates.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "engine/sample/sampler.h"

namespace lathe::engine {

/// The state of a row between the stages. Invariant: once narrowed, scratch.order holds the candidates' ids and
/// scratch.values their logits, in the same order.
struct SampleState {
  const SampleInput& input;
  SamplerScratch& scratch;
  float best = 0;         ///< the highest logit; its token always stays a candidate
  bool narrowed = false;  ///< false: every token is a candidate, with its logit in input.logits

  std::span<const float> candidate_logits() const {
    return narrowed ? std::span<const float>(scratch.values) : input.logits;
  }
  std::int32_t candidate_id(std::size_t i) const { return narrowed ? scratch.order[i] : static_cast<std::int32_t>(i); }
  /// Keeps the candidates i for which keep(i) holds, in their order.
  template <class Keep>
  void narrow(Keep keep);
};

enum class StagePhase : std::uint8_t {
  logits,     ///< changes which token is best; runs for greedy sampling too
  candidates  ///< changes only probabilities; skipped for greedy sampling
};

struct SampleStage {
  std::string_view name;
  StagePhase phase;
  bool (*applies)(const SampleInput& input);  ///< a stage that applies to a token of an answer applies to the first one
  void (*apply)(SampleState& state);
};

/// All stages, in the order in which they run.
std::span<const SampleStage* const> sample_stages();

template <class Keep>
void SampleState::narrow(Keep keep) {
  const std::span<const float> logits = candidate_logits();
  const std::size_t n = logits.size();
  if (!narrowed) {
    scratch.values.resize(n);
    scratch.order.resize(n);
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (!keep(i)) continue;
    scratch.order[kept] = candidate_id(i);
    scratch.values[kept] = logits[i];
    ++kept;
  }
  scratch.values.resize(kept);
  scratch.order.resize(kept);
  narrowed = true;
}

}  // namespace lathe::engine
