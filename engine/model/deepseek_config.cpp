// SPDX-License-Identifier: Apache-2.0
#include "engine/model/deepseek_config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

namespace lathe::engine {
namespace {

void read_latent(ConfigReader& reader, ModelConfig& config, const LatentConfig& usual) {
  if (!reader.boolean_or("use_mla", true)) reader.unmet("attention without a latent (use_mla)");
  LatentConfig& latent = config.latent;
  latent.kv_rank = reader.integer_or("kv_lora_rank", usual.kv_rank, 1, kMaxWidth);
  latent.q_rank = reader.is_null("q_lora_rank") ? 0 : reader.integer_or("q_lora_rank", usual.q_rank, 1, kMaxWidth);
  latent.qk_nope_head_dim = reader.integer_or("qk_nope_head_dim", usual.qk_nope_head_dim, 1, kMaxHeadDim);
  latent.qk_rope_head_dim = reader.integer_or("qk_rope_head_dim", usual.qk_rope_head_dim, 2, kMaxHeadDim);
  latent.v_dim = reader.integer_or("v_head_dim", usual.v_dim, 1, kMaxHeadDim);
  latent.has_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  if (latent.qk_rope_head_dim % 2 != 0) {
    reader.fault("qk_rope_head_dim", fmt::format("got {}, expected an even number", latent.qk_rope_head_dim));
  }
  config.n_kv_heads = 1;
  config.head_dim = latent.cached_dim();
}

}  // namespace

void read_sparse_layers_by_type(ConfigReader& reader, ModelConfig& config, std::string_view dense_key,
                                std::int64_t n_dense) {
  const auto n_layers = static_cast<std::size_t>(config.n_layers);
  const std::vector<std::string> types = reader.texts("mlp_layer_types", static_cast<std::size_t>(kMaxLayers));
  if (!types.empty() && types.size() < n_layers) {
    reader.fault("mlp_layer_types",
                 fmt::format("got a list of {}, expected one for each of {} layers", types.size(), n_layers));
  }
  n_dense = reader.integer_or(dense_key, n_dense, 0, kMaxLayers);
  const std::int64_t period = reader.integer_or("moe_layer_freq", 1, 1, kMaxLayers);
  config.layers.resize(n_layers);
  for (std::size_t i = 0; i < n_layers; ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    config.layers[i].has_experts = i < types.size() ? types[i] == "sparse" : layer >= n_dense && layer % period == 0;
  }
}

void read_deepseek_parts(ConfigReader& reader, ModelConfig& config, const DeepseekDefaults& defaults) {
  read_sizes(reader, config, {.n_positions = defaults.n_positions});
  read_rms_norm(reader, config, defaults.rms_norm_eps);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
  read_latent(reader, config, defaults.latent);
  const bool in_pairs = reader.boolean_or("rope_interleave", true);
  config.ropes = {read_rope(reader,
                            {.rotary_dim = config.latent.qk_rope_head_dim,
                             .style = in_pairs ? kernels::RopeStyle::interleaved : kernels::RopeStyle::half},
                            config.max_position_embeddings)};
  config.attention_scale =
      yarn_score_factor(config.ropes.front()) / std::sqrt(static_cast<double>(config.latent.query_dim()));
  read_deepseek_experts(reader, config, defaults);
}

void read_deepseek_experts(ConfigReader& reader, ModelConfig& config, const DeepseekDefaults& defaults) {
  read_experts(reader, config, defaults.n_experts, defaults.top_k, {.n_experts = "n_routed_experts"});
  read_sparse_layers_by_type(reader, config, "first_k_dense_replace", defaults.n_dense);
  config.moe.shared_size = config.moe.expert_size * reader.integer_or("n_shared_experts", defaults.n_shared, 0, kMaxExperts);
  if (config.mlp_bias && config.moe.shared_size > 0) reader.unmet("biases of shared experts (mlp_bias)");
  config.moe.scale = reader.number_or("routed_scaling_factor", defaults.expert_scale, 1e-6, 1e6);
}

void read_sigmoid_router(ConfigReader& reader, ModelConfig& config, std::int64_t n_groups, std::int64_t topk_groups) {
  read_expert_groups(reader, config, n_groups, topk_groups);
  config.moe.score = RouterScore::sigmoid;
  config.moe.group_score = GroupScore::best_two;
  config.moe.has_score_correction_bias = true;
  config.moe.normalises = reader.boolean_or("norm_topk_prob", true);
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
