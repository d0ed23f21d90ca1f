// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gemma_config.h"

#include <cmath>

namespace lathe::engine {

namespace {

double cap_or(ConfigReader& reader, std::string_view key, double usual) {
  return reader.is_null(key) ? 0 : reader.number_or(key, usual, 0, 1e6);
}

}  // namespace

void read_gemma_parts(ConfigReader& reader, ModelConfig& config) {
  read_rms_norm(reader, config, 1e-6);
  config.norm.plus_one = true;
  config.rounds_embedding_multiplier = true;
  config.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  // Older files of Gemma 1 give "gelu" in hidden_act and mean gelu_pytorch_tanh.
  const std::string_view key = reader.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  config.activation = read_activation(reader, key, "gelu_pytorch_tanh");
  if (config.activation == kernels::Activation::gelu) config.activation = kernels::Activation::gelu_tanh;
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
}

void read_gemma_scores(ConfigReader& reader, ModelConfig& config, const SoftCaps& usual) {
  config.attention_scale = 1 / std::sqrt(reader.number_or("query_pre_attn_scalar", 256, 1e-3, 1e6));
  config.attention_soft_cap = cap_or(reader, "attn_logit_softcapping", usual.attention);
  config.logit_soft_cap = cap_or(reader, "final_logit_softcapping", usual.logits);
}

}  // namespace lathe::engine
