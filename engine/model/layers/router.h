// SPDX-License-Identifier: Apache-2.0
// Choosing the experts of a row from the scores that a router gives them.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/moe_config.h"

namespace lathe::engine {

/// An expert of a row, and what its output is multiplied with.
struct Chosen {
  std::int32_t expert = 0;
  float weight = 0;
};

/// Fills `chosen` [top_k], by falling score; of equal ones the first. logits [n_experts] are overwritten. `bias`
/// [n_experts] or none counts for the choice and not for the weights.
void choose_experts(const MoeConfig& config, std::span<float> logits, std::span<const float> bias, std::span<Chosen> chosen);

}  // namespace lathe::engine
