// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/api/router.h"

namespace lathe::kernels {

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

void softmax(std::span<float> numbers) {
  const float largest = *std::max_element(numbers.begin(), numbers.end());
  float sum = 0;
  for (float& x : numbers) sum += x = std::exp(x - largest);
  for (float& x : numbers) x /= sum;
}

float rank_of_group(std::span<const float> choices, GroupScore kind) {
  float best = kNever, second = kNever;
  for (const float x : choices) {
    if (x > best) {
      second = best;
      best = x;
    } else if (x > second) {
      second = x;
    }
  }
  return kind == GroupScore::best_two ? best + second : best;
}

/// Excludes all experts but those of the topk_groups best groups; of equal groups the first is better.
void close_groups(const RouterForm& form, std::span<float> choices) {
  const auto n_groups = static_cast<std::size_t>(form.n_groups), size = choices.size() / n_groups;
  float ranks[kMaxExperts];
  for (std::size_t g = 0; g < n_groups; ++g) ranks[g] = rank_of_group(choices.subspan(g * size, size), form.group_score);
  for (std::size_t g = 0; g < n_groups; ++g) {
    std::int64_t n_before = 0;
    for (std::size_t other = 0; other < n_groups; ++other) {
      if (ranks[other] > ranks[g] || (ranks[other] == ranks[g] && other < g)) ++n_before;
    }
    if (n_before >= form.topk_groups) std::ranges::fill(choices.subspan(g * size, size), kNever);
  }
}

/// Softmax of the best choice over the choices within the jitter. Source: Liu et al. 2023, SparseMixer, without its noise.
float mixed_weight(std::span<const float> choices, float best, double jitter) {
  float sum = 0;
  for (const float x : choices) {
    const bool is_far = (best - x) / std::max(std::fabs(x), best) > static_cast<float>(2 * jitter);
    if (x != kNever && !is_far) sum += std::exp(x - best);
  }
  return 1 / sum;
}

}  // namespace

void choose_experts(const RouterForm& form, std::span<float> logits, std::span<const float> bias, std::span<Chosen> chosen) {
  if (form.score == RouterScore::softmax) softmax(logits);
  if (form.score == RouterScore::sigmoid) {
    for (float& x : logits) x = 1 / (1 + std::exp(-x));
  }
  const std::size_t n = logits.size();
  float memory[kMaxExperts];
  const std::span<float> choices(memory, n);
  for (std::size_t i = 0; i < n; ++i) choices[i] = logits[i] + (bias.empty() ? 0.0F : bias[i]);
  if (form.n_groups > 1) close_groups(form, choices);
  float sum = 0;
  for (Chosen& one : chosen) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(choices) - choices.begin());
    const bool mixes = form.score == RouterScore::sparse_mixer;
    one = {static_cast<std::int32_t>(best), mixes ? mixed_weight(choices, choices[best], form.jitter) : logits[best]};
    choices[best] = kNever;
    sum += one.weight;
  }
  if (form.score == RouterScore::softmax_chosen) {
    const float largest = chosen.front().weight;
    sum = 0;
    for (Chosen& one : chosen) sum += one.weight = std::exp(one.weight - largest);
  }
  const bool divides = form.normalises || form.score == RouterScore::softmax_chosen;
  const float factor = static_cast<float>(form.scale) / (divides ? sum + 1e-20F : 1.0F);
  for (Chosen& one : chosen) one.weight *= factor;
}

}  // namespace lathe::kernels
