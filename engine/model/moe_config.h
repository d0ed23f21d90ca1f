// SPDX-License-Identifier: Apache-2.0
// MoeConfig: a mixture of experts, in place of an MLP.
#pragma once

#include <cstdint>

#include "kernels/api/router.h"

namespace lathe::engine {

using kernels::GroupScore;
using kernels::kMaxExperts;
using kernels::RouterScore;

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
  bool weighs_input = false;     ///< the weight of an expert multiplies its input, not its output: Llama 4
  bool adds_mlp = false;         ///< layers with experts have an MLP as well, and norms of each: Gemma 4
  bool has_shared_gate = false;  ///< the shared expert's output is multiplied with the sigmoid of shared_expert_gate

  kernels::RouterForm router() const {
    return {.n_experts = n_experts,
            .top_k = top_k,
            .score = score,
            .normalises = normalises,
            .scale = scale,
            .jitter = jitter,
            .n_groups = n_groups,
            .topk_groups = topk_groups,
            .group_score = group_score};
  }
};

}  // namespace lathe::engine
