// SPDX-License-Identifier: Apache-2.0
// top_p: keeps the most probable tokens, each as long as those before it hold less than top_p of the mass. Source: Holtzman
// et al., "The curious case of neural text degeneration" (2019), section 3.1.
#include <algorithm>
#include <array>

#include "engine/sample/softmax.h"
#include "engine/sample/stage.h"

namespace lathe::engine {
namespace {

// Buckets by distance from the best logit find the border without sorting the row: only the bucket in which the mass runs
// out is sorted. 512 buckets of 1/16 reach e^-32, below which a weight does not change a float total.
constexpr std::size_t kBuckets = 512;
constexpr float kBucketsPerUnit = 16.0f;

std::size_t bucket_of(float logit, float best) {
  const float distance = (best - logit) * kBucketsPerUnit;
  return distance < static_cast<float>(kBuckets - 1) ? static_cast<std::size_t>(distance) : kBuckets - 1;
}

bool top_p_applies(const SampleInput& input) { return input.params->top_p < 1.0; }

/// Sorts the ids of one bucket, best first, and drops those that follow once `mass` is reached.
void cut_bucket(std::vector<std::int32_t>& members, std::span<const float> logits, std::span<const float> weights,
                double mass) {
  std::sort(members.begin(), members.end(),
            [&](std::int32_t a, std::int32_t b) { return logits[a] > logits[b] || (logits[a] == logits[b] && a < b); });
  std::size_t kept = 0;
  for (double before = 0; kept < members.size() && before < mass; ++kept) before += weights[members[kept]];
  members.resize(kept);
  std::sort(members.begin(), members.end());
}

void apply_top_p(SampleState& state) {
  const std::span<const float> logits = state.candidate_logits();
  auto& weights = state.scratch.selection;
  weights.resize(logits.size());
  const double wanted = exponentiate(logits, state.best, weights) * state.input.params->top_p;

  std::array<double, kBuckets> mass{};
  for (std::size_t i = 0; i < logits.size(); ++i) mass[bucket_of(logits[i], state.best)] += weights[i];
  std::size_t border = 0;
  double before = 0;
  while (border + 1 < kBuckets && before + mass[border] < wanted) before += mass[border++];

  auto& members = state.scratch.best;
  members.clear();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (bucket_of(logits[i], state.best) == border) members.push_back(static_cast<std::int32_t>(i));
  }
  cut_bucket(members, logits, weights, wanted - before);
  std::size_t next = 0;
  state.narrow([&](std::size_t i) {
    const std::size_t bucket = bucket_of(logits[i], state.best);
    if (bucket != border) return bucket < border;
    if (next == members.size() || static_cast<std::size_t>(members[next]) != i) return false;
    ++next;
    return true;
  });
}

}  // namespace

extern constexpr SampleStage kTopPStage = {
    .name = "top_p", .phase = StagePhase::candidates, .applies = top_p_applies, .apply = apply_top_p};

}  // namespace lathe::engine
