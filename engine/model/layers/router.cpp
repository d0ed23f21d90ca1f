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

/// Whether fewer than n_chosen_groups groups come before this one.
bool is_chosen_group(const MoeConfig& config, std::span<const float> choices, std::size_t group) {
  const std::size_t size = choices.size() / static_cast<std::size_t>(config.n_groups);
  const auto rank = [&](std::size_t g) { return rank_of_group(choices.subspan(g * size, size), config.group_score); };
  const float own = rank(group);
  std::int64_t n_before = 0;
  for (std::size_t g = 0; g < static_cast<std::size_t>(config.n_groups); ++g) {
    const float other = rank(g);
    if (other > own || (other == own && g < group)) ++n_before;
  }
  return n_before < config.n_chosen_groups;
}

}  // namespace

void choose_experts(const MoeConfig& config, std::span<float> logits, std::span<const float> bias,
                    std::span<Chosen> chosen) {
  if (config.score == RouterScore::softmax) softmax(logits);
  if (config.score == RouterScore::sigmoid) {
    for (float& x : logits) x = 1 / (1 + std::exp(-x));
  }
  const auto choice = [&](std::size_t expert) { return logits[expert] + (bias.empty() ? 0.0F : bias[expert]); };
  const std::size_t n = logits.size(), group_size = n / static_cast<std::size_t>(config.n_groups);
  float choices[kMaxExperts];
  for (std::size_t i = 0; i < n; ++i) choices[i] = choice(i);
  float open[kMaxExperts];
  for (std::size_t i = 0; i < n; ++i) {
    const bool in_group = config.n_groups == 1 || is_chosen_group(config, {choices, n}, i / group_size);
    open[i] = in_group ? choices[i] : kNever;
  }
  float sum = 0;
  for (Chosen& one : chosen) {
    const auto best = static_cast<std::size_t>(std::max_element(open, open + n) - open);
    one = {static_cast<std::int32_t>(best), logits[best]};
    open[best] = kNever;
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
