// SPDX-License-Identifier: Apache-2.0
#include "engine/model/deepseek_config.h"

#include <fmt/format.h>

#include <cmath>

namespace lathe::engine {
namespace {

void read_latent(ConfigReader& reader, ModelConfig& config) {
  LatentConfig& latent = config.latent;
  latent.kv_rank = reader.integer_or("kv_lora_rank", 512, 1, kMaxWidth);
  latent.q_rank = reader.is_null("q_lora_rank") ? 0 : reader.integer_or("q_lora_rank", 1536, 1, kMaxWidth);
  latent.qk_nope_head_dim = reader.integer_or("qk_nope_head_dim", 128, 1, kMaxHeadDim);
  latent.qk_rope_head_dim = reader.integer_or("qk_rope_head_dim", 64, 2, kMaxHeadDim);
  latent.v_dim = reader.integer_or("v_head_dim", 128, 1, kMaxHeadDim);
  latent.has_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  if (latent.qk_rope_head_dim % 2 != 0) {
    reader.fault("qk_rope_head_dim", fmt::format("got {}, expected an even number", latent.qk_rope_head_dim));
  }
  config.n_kv_heads = 1;
  config.head_dim = latent.cached_dim();
}

}  // namespace

void read_deepseek_parts(ConfigReader& reader, ModelConfig& config, const DeepseekDefaults& defaults) {
  read_sizes(reader, config, {.n_positions = defaults.n_positions});
  read_rms_norm(reader, config, 1e-6);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
  read_latent(reader, config);
  const bool in_pairs = reader.boolean_or("rope_interleave", true);
  config.ropes = {read_rope(reader,
                            {.rotary_dim = config.latent.qk_rope_head_dim,
                             .style = in_pairs ? kernels::RopeStyle::interleaved : kernels::RopeStyle::half},
                            config.max_position_embeddings)};
  config.attention_scale =
      yarn_score_factor(config.ropes.front()) / std::sqrt(static_cast<double>(config.latent.query_dim()));
  read_experts(reader, config, defaults.n_experts, defaults.top_k, {.n_experts = "n_routed_experts"});
  const std::int64_t n_dense = reader.integer_or("first_k_dense_replace", defaults.n_dense, 0, kMaxLayers);
  const std::int64_t period = reader.integer_or("moe_layer_freq", 1, 1, kMaxLayers);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    config.layers[i].has_experts = layer >= n_dense && layer % period == 0;
  }
  config.moe.shared_size = config.moe.expert_size * reader.integer_or("n_shared_experts", defaults.n_shared, 0, kMaxExperts);
  if (config.mlp_bias && config.moe.shared_size > 0) reader.unmet("biases of shared experts (mlp_bias)");
  config.moe.scale = reader.number_or("routed_scaling_factor", defaults.expert_scale, 1e-6, 1e6);
}

void read_expert_groups(ConfigReader& reader, ModelConfig& config, std::int64_t n_groups, std::int64_t top_k) {
  MoeConfig& moe = config.moe;
  moe.n_groups = reader.integer_or("n_group", n_groups, 1, kMaxExperts);
  moe.topk_groups = reader.integer_or("topk_group", top_k, 1, kMaxExperts);
  if (moe.n_experts % moe.n_groups != 0) {
    reader.fault("n_group", fmt::format("got {}, expected a divisor of {} experts", moe.n_groups, moe.n_experts));
    moe.n_groups = 1;
  }
  if (moe.top_k > moe.topk_groups * (moe.n_experts / moe.n_groups)) {
    reader.fault("topk_group",
                 fmt::format("{} of {} groups have fewer than {} experts", moe.topk_groups, moe.n_groups, moe.top_k));
  }
}

}  // namespace lathe::engine
