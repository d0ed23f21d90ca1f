// SPDX-License-Identifier: Apache-2.0
// Command R: layer norms without bias, one for both attention and MLP. Source: Hugging Face transformers, CohereConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_cohere_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_positions = 8192, .tied_embeddings = true});
  read_layer_norm(reader, config, "layer_norm_eps", 1e-5, false);
  config.ropes = {read_rope(reader,
                            {.theta = 500000, .rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved},
                            config.max_position_embeddings)};
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.residual = Residual::parallel;
  config.logit_multiplier = reader.number_or("logit_scale", 0.0625, 1e-6, 1e6);
  if (reader.boolean_or("use_qk_norm", false)) {
    norm_queries(config, QkNorm::own_heads);
  }
}

}  // namespace

extern constexpr Architecture kCohere{
    .name = "CohereForCausalLM",
    .model_type = "cohere",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_cohere_config,
};

}  // namespace lathe::engine
