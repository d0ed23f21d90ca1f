// SPDX-License-Identifier: Apache-2.0
// Phi-3.5-MoE: Mixtral with layer norms, biases, longrope and SparseMixer. Source: Abdin et al. 2024; Hugging Face
// transformers, PhimoeConfig. transformers 5 uses longrope's short factors also beyond the original context; here the long
// factors are used there, as the model was trained.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kPhiMoeTensors =
    joined(kLlamaEnds, std::array{TensorName{WeightRole::head_bias, "lm_head.bias"}}, kLlamaNorms, kLlamaAttention,
           kMixtralExperts, std::array{TensorName{WeightRole::router, "layers.{}.mlp.router.weight"}}, kFusedExperts);

void read_phimoe_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .n_positions = 131072});
  read_layer_norm(reader, config, "rms_norm_eps", 1e-5);  // a layer norm, in spite of the key's name
  read_whole_rope(reader, config, 1e6);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.head_bias = reader.boolean_or("lm_head_bias", false);
  const std::int64_t window = reader.integer_or("sliding_window", 0, 0, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
  read_experts(reader, config, 16, 2, {.size = "intermediate_size"});
  config.moe.score = RouterScore::sparse_mixer;
  config.moe.jitter = reader.number_or("router_jitter_noise", 0.01, 0, 1);
}

}  // namespace

extern constexpr Architecture kPhiMoe{
    .name = "PhimoeForCausalLM",
    .model_type = "phimoe",
    .tensors = kPhiMoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_phimoe_config,
};

}  // namespace lathe::engine
