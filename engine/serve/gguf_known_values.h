// SPDX-License-Identifier: Apache-2.0
// Values of a GGUF file that follow from the model config.
#pragma once

#include <span>
#include <string_view>

#include "engine/base/json.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// A value from the model config for a GGUF key: for config.json files that omit it, or have it under another name.
struct KnownGgufValue {
  std::string_view gguf;
  Json (*of)(const ModelConfig& config);  ///< null: absent
};

std::span<const KnownGgufValue> known_gguf_values();

/// RoPE of the first layer without a window that has RoPE, or else with a window; null: there is none.
const RopeConfig* main_rope(const ModelConfig& config);
Json router_score_name(const ModelConfig& config);
Json n_leading_dense_layers(const ModelConfig& config);

}  // namespace lathe::engine
