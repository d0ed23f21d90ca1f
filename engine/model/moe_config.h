// SPDX-License-Identifier: Apache-2.0
// MoeConfig: a mixture of experts, in place of an MLP.
#pragma once

#include <cstdint>

namespace lathe::engine {

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

struct MoeConfig {
  std::int64_t n_experts = 0;  ///< 0: no layer has experts
  std::int64_t top_k = 0;
  std::int64_t expert_size = 0;  ///< intermediate size of one expert
  RouterScore score = RouterScore::softmax;
  bool normalises = false;  ///< the expert weights of a row are divided by their sum
  double scale = 1;         ///< factor of the expert weights, after normalising
  double jitter = 0;  ///< sparse_mixer: half of the admitted distance to the best logit, relative to the larger of the two
  std::int64_t n_groups = 1, topk_groups = 1;
  GroupScore group_score = GroupScore::largest;
  bool has_router_bias = false;
  bool has_score_correction_bias = false;  ///< added to the scores for the choice, not for the weights
  bool has_expert_bias = false;
  std::int64_t shared_size = 0;  ///< intermediate size of the shared expert, which every row uses as well; 0: none
  bool has_shared_gate = false;  ///< the shared expert's output is multiplied with the sigmoid of shared_expert_gate
};

}  // namespace lathe::engine
