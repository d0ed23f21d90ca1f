// SPDX-License-Identifier: Apache-2.0
#include "engine/model/layers/router.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace lathe::engine {

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
void close_groups(const MoeConfig& config, std::span<float> choices) {
  const auto n_groups = static_cast<std::size_t>(config.n_groups), size = choices.size() / n_groups;
  float ranks[kMaxExperts];
  for (std::size_t g = 0; g < n_groups; ++g) ranks[g] = rank_of_group(choices.subspan(g * size, size), config.group_score);
  for (std::size_t g = 0; g < n_groups; ++g) {
    std::int64_t n_before = 0;
    for (std::size_t other = 0; other < n_groups; ++other) {
      if (ranks[other] > ranks[g] || (ranks[other] == ranks[g] && other < g)) ++n_before;
    }
    if (n_before >= config.topk_groups) std::ranges::fill(choices.subspan(g * size, size), kNever);
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

void choose_experts(const MoeConfig& config, std::span<float> logits, std::span<const float> bias,
                    std::span<Chosen> chosen) {
  if (config.score == RouterScore::softmax) softmax(logits);
  if (config.score == RouterScore::sigmoid) {
    for (float& x : logits) x = 1 / (1 + std::exp(-x));
  }
  const std::size_t n = logits.size();
  float memory[kMaxExperts];
  const std::span<float> choices(memory, n);
  for (std::size_t i = 0; i < n; ++i) choices[i] = logits[i] + (bias.empty() ? 0.0F : bias[i]);
  if (config.n_groups > 1) close_groups(config, choices);
  float sum = 0;
  for (Chosen& one : chosen) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(choices) - choices.begin());
    const bool mixes = config.score == RouterScore::sparse_mixer;
    one = {static_cast<std::int32_t>(best), mixes ? mixed_weight(choices, choices[best], config.jitter) : logits[best]};
    choices[best] = kNever;
    sum += one.weight;
  }
  if (config.score == RouterScore::softmax_chosen) {
    const float largest = chosen.front().weight;
    sum = 0;
    for (Chosen& one : chosen) sum += one.weight = std::exp(one.weight - largest);
  }
  const bool divides = config.normalises || config.score == RouterScore::softmax_chosen;
  const float factor = static_cast<float>(config.scale) / (divides ? sum + 1e-20F : 1.0F);
  for (Chosen& one : chosen) one.weight *= factor;
}

}  // namespace lathe::engine
