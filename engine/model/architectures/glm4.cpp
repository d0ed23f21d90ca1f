// SPDX-License-Identifier: Apache-2.0
// GLM-4 (0414): as GLM, with norms before and after attention and MLP. Source: Hugging Face transformers, Glm4Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kGlm4Tensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention,
           std::array{TensorName{WeightRole::gate_up, "layers.{}.mlp.gate_up_proj.weight"},
                      TensorName{WeightRole::down, "layers.{}.mlp.down_proj.weight"},
                      TensorName{WeightRole::attention_out_norm, "layers.{}.post_self_attn_layernorm.weight"},
                      TensorName{WeightRole::mlp_out_norm, "layers.{}.post_mlp_layernorm.weight"}});

void read_glm4_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 128, .n_positions = 131072});
  read_rms_norm(reader, config, 1.5625e-7);
  read_partial_rope(reader, config, {.factor = 0.5, .style = kernels::RopeStyle::interleaved, .may_be_odd = true});
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = reader.boolean_or("attention_bias", true);
  config.norm_place = NormPlace::around;
}

}  // namespace

extern constexpr Architecture kGlm4{
    .name = "Glm4ForCausalLM",
    .model_type = "glm4",
    .tensors = kGlm4Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_glm4_config,
};

}  // namespace lathe::engine
