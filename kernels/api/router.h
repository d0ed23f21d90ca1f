// SPDX-License-Identifier: Apache-2.0
// Router: the choice of experts for a row, from its logits.
#pragma once

#include <cstdint>
#include <span>

namespace lathe::kernels {

/// The function from a router's logits to scores.
enum class RouterScore : std::uint8_t {
  softmax,         ///< over all experts
  softmax_chosen,  ///< over the logits of the chosen experts: gpt-oss
  sigmoid,         ///< of each logit alone: DeepSeek-V3
  sparse_mixer     ///< for each chosen expert over those within `jitter` of it and not chosen before: Phi-3.5-MoE
};

/// The score by which a group of experts is ranked.
enum class GroupScore : std::uint8_t {
  largest,  ///< the score of its best expert: DeepSeek-V2
  best_two  ///< the sum of the scores of its two best experts: DeepSeek-V3
};

// Twice the experts of the largest released model.
inline constexpr std::int64_t kMaxExperts = 1024;

/// How experts are chosen. Requires: n_experts is a multiple of n_groups.
struct RouterForm {
  std::int64_t n_experts = 0;
  std::int64_t top_k = 0;
  RouterScore score = RouterScore::softmax;
  bool normalises = false;  ///< the expert weights of a row are divided by their sum
  double scale = 1;         ///< factor of the expert weights, after normalising
  double jitter = 0;  ///< sparse_mixer: half of the admitted distance to the best logit, relative to the larger of the two
  std::int64_t n_groups = 1, topk_groups = 1;
  GroupScore group_score = GroupScore::largest;
};

/// An expert of a row, and the factor of its output.
struct Chosen {
  std::int32_t expert = 0;
  float weight = 0;
};

/// Fills `chosen` [top_k] by descending score; of equal scores the first expert wins. logits [n_experts] are overwritten.
/// `bias` [n_experts] or none counts for the choice, not for the weights.
void choose_experts(const RouterForm& form, std::span<float> logits, std::span<const float> bias, std::span<Chosen> chosen);

}  // namespace lathe::kernels
