// SPDX-License-Identifier: Apache-2.0
// MoeConfig: a mixture of experts in place of an MLP.
#pragma once

#include <cstdint>

namespace lathe::engine {

/// What makes scores of a router's logits.
enum class RouterScore : std::uint8_t {
  softmax,         ///< over all experts
  softmax_chosen,  ///< over those that were chosen, by their logits: gpt-oss
  sigmoid,         ///< each by itself: DeepSeek-V3
  sparse_mixer     ///< for each that is chosen, over those within `jitter` of it and not chosen before: Phi-3.5-MoE
};

/// By what a group of experts is ranked.
enum class GroupScore : std::uint8_t {
  largest,  ///< its best expert: DeepSeek-V2
  best_two  ///< the sum of its two best: DeepSeek-V3
};

// Twice what the largest released model has.
inline constexpr std::int64_t kMaxExperts = 1024;

struct MoeConfig {
  std::int64_t n_experts = 0;  ///< 0: no layer has any
  std::int64_t top_k = 0;
  std::int64_t expert_size = 0;  ///< intermediate size of one
  RouterScore score = RouterScore::softmax;
  bool normalises = false;  ///< weights of a row add up to 1
  double scale = 1;         ///< of the weights, afterwards
  double jitter = 0;        ///< sparse_mixer: half of the distance, as a share of the larger logit
  std::int64_t n_groups = 1, topk_groups = 1;
  GroupScore group_score = GroupScore::largest;
  bool has_router_bias = false;
  bool has_score_correction_bias = false;  ///< added to the scores for the choice alone
  bool has_expert_bias = false;
  std::int64_t shared_size = 0;  ///< intermediate size of the expert that every row has beside its own; 0: none
  bool has_shared_gate = false;  ///< its output is multiplied with the sigmoid of a product of its own
};

}  // namespace lathe::engine
