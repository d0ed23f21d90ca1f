// SPDX-License-Identifier: Apache-2.0
// Chooses the experts of a row from the router's logits.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/moe_config.h"

namespace lathe::engine {

/// An expert of a row, and the factor of its output.
struct Chosen {
  std::int32_t expert = 0;
  float weight = 0;
};

/// Fills `chosen` [top_k] by descending score; of equal scores the first expert wins. logits [n_experts] are overwritten.
/// `bias` [n_experts] or none counts for the choice, not for the weights.
void choose_experts(const MoeConfig& config, std::span<float> logits, std::span<const float> bias, std::span<Chosen> chosen);

}  // namespace lathe::engine
