// SPDX-License-Identifier: Apache-2.0
// Mixtral: Mistral with experts. Source: Jiang et al. 2024; Hugging Face transformers, MixtralConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kMixtralTensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kMixtralExperts,
           std::array{TensorName{WeightRole::router, "layers.{}.mlp.gate.weight"}}, kFusedExperts);

void read_mixtral_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 8, .n_positions = 131072, .rms_norm_eps = 1e-5, .rope_theta = 1e6});
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
  read_experts(reader, config, 8, 2, {.size = "intermediate_size"});
  config.moe.normalises = true;
}

}  // namespace

extern constexpr Architecture kMixtral{
    .name = "MixtralForCausalLM",
    .model_type = "mixtral",
    .tensors = kMixtralTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_mixtral_config,
};

}  // namespace lathe::engine
