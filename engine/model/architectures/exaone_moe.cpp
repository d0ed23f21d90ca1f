// SPDX-License-Identifier: Apache-2.0
// K-EXAONE: the layers of EXAONE 4 with norms before their halves, and the experts of DeepSeek-V3. The layers for further
// tokens are left out. Source: LG AI Research 2026; Hugging Face transformers, ExaoneMoeConfig.
#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

constexpr auto kExaoneMoeTensors = joined(
    kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kDeepseekExperts,
    std::array{TensorName{WeightRole::score_correction_bias, "layers.{}.mlp.e_score_correction_bias"}}, kFusedExperts);

void read_exaone_moe_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.rms_norm_eps = 1e-5});
  norm_queries(config, QkNorm::head);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  // Files with layer_types may have the pattern as text ("LLLG").
  const bool has_types = reader.has("layer_types");
  const std::int64_t period = has_types ? 1 : reader.integer_or("sliding_window_pattern", 4, 1, kMaxLayers);
  read_windows(reader, config, window, [&](std::int64_t layer) { return (layer + 1) % period != 0; });
  drop_rope_of_full_layers(config);
  read_experts(reader, config, 64, 8, {.n_experts = "num_experts", .n_experts_too = "n_routed_experts"});
  read_sparse_layers_by_type(reader, config, "first_k_dense_replace", 1);
  config.moe.shared_size = config.moe.expert_size * reader.integer_or("num_shared_experts", 1, 0, kMaxExperts);
  config.moe.scale = reader.number_or("routed_scaling_factor", 2.5, 1e-6, 1e6);
  read_sigmoid_router(reader, config, 1, 1);
}

constexpr std::array<std::string_view, 1> kExaoneMoeOtherNames = {"ExaoneMoEForCausalLM"};

}  // namespace

extern constexpr Architecture kExaoneMoe{
    .name = "ExaoneMoeForCausalLM",
    .model_type = "exaone_moe",
    .tensors = kExaoneMoeTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_exaone_moe_config,
    .other_names = kExaoneMoeOtherNames,
};

}  // namespace lathe::engine
