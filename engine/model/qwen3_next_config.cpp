// SPDX-License-Identifier: Apache-2.0
#include "engine/model/qwen3_next_config.h"

namespace lathe::engine {

void read_qwen3_next_parts(ConfigReader& reader, ModelConfig& config) {
  read_rms_norm(reader, config, 1e-6);
  config.norm.plus_one = true;
  norm_queries(config, QkNorm::head);
  read_partial_rope(reader, config, {.factor = 0.25});
  config.activation = read_activation(reader, "hidden_act", "silu");
  if (config.activation != kernels::Activation::silu) {
    reader.unmet("gated delta net with another activation than silu (hidden_act)");
  }
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.has_output_gate = reader.boolean_or("attn_output_gate", true);
  read_delta_net(reader, config);
}

void read_qwen3_next_experts(ConfigReader& reader, ModelConfig& config, std::int64_t n_experts, std::int64_t top_k) {
  read_experts(reader, config, n_experts, top_k, {.usual_size = 512});
  config.moe.shared_size = reader.integer_or("shared_expert_intermediate_size", 512, 1, kMaxWidth);
  config.moe.has_shared_gate = true;
}

}  // namespace lathe::engine
