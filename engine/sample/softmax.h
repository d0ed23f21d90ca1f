// SPDX-License-Identifier: Apache-2.0
// Passes over a row of logits: the best logit, exp(x - best), and sums that are the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace lathe::engine {

struct BestLogit {
  float value = 0;
  std::int32_t id = 0;  ///< lowest id among equal logits
  bool usable = false;  ///< false: a NaN, +inf, or no logit above -inf
};
BestLogit best_logit(std::span<const float> logits);

/// out[i] = exp(logits[i] - best), 0 below e^-87; returns weight_sum(out). Relative error of an element < 3e-7. Requires:
/// best >= each logit; out.size() == logits.size(); out may be the same memory as logits.
double exponentiate(std::span<const float> logits, float best, std::span<float> out);

/// log(sum(exp(logits))), without writing anything.
double log_sum_exp(std::span<const float> logits, float best);

/// Count of logits that are at least `bar`. If `bar` is a token's logit, the count is the token's rank, 1 for the likeliest.
std::int32_t count_at_least(std::span<const float> logits, float bar);

/// Sum in blocks of kWeightBlock: 4 lanes of float inside a block, double across blocks.
double weight_sum(std::span<const float> weights);
inline constexpr std::size_t kWeightBlock = 64;

/// Index of the element in whose interval `target` falls when the weights are laid end to end; zero weights are never hit.
/// Requires: 0 <= target < weight_sum(weights), some weight > 0.
std::size_t index_at_mass(std::span<const float> weights, double target);

}  // namespace lathe::engine
