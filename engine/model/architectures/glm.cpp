// SPDX-License-Identifier: Apache-2.0
// GLM: RoPE rotates half of each head, in adjacent pairs. Source: Hugging Face transformers, GlmConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

// Older GGUF files have Q, K and V in one tensor.
constexpr auto kGlmTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention,
                                    std::array{TensorName{WeightRole::qkv, "layers.{}.self_attn.qkv_proj.weight"},
                                               TensorName{WeightRole::qkv_bias, "layers.{}.self_attn.qkv_proj.bias"},
                                               TensorName{WeightRole::gate_up, "layers.{}.mlp.gate_up_proj.weight"},
                                               TensorName{WeightRole::down, "layers.{}.mlp.down_proj.weight"}});

void read_glm_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 128, .n_positions = 131072});
  read_rms_norm(reader, config, 1.5625e-7);
  read_partial_rope(reader, config, {.factor = 0.5, .style = kernels::RopeStyle::interleaved, .may_be_odd = true});
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = reader.boolean_or("attention_bias", true);
}

}  // namespace

extern constexpr Architecture kGlm{
    .name = "GlmForCausalLM",
    .model_type = "glm",
    .tensors = kGlmTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_glm_config,
};

}  // namespace lathe::engine
