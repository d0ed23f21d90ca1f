// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/gguf_known_values.h"

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

/// RoPE of the first layer that rotates, among layers with or without a window; null: there is none.
const RopeConfig* rope_of_layers(const ModelConfig& config, bool with_window) {
  for (const LayerConfig& layer : config.layers) {
    if (layer.rope < 0 || (layer.window > 0) != with_window) continue;
    const RopeConfig& rope = config.ropes[static_cast<std::size_t>(layer.rope)];
    if (!rope.is_still) return &rope;
  }
  return nullptr;
}

}  // namespace

const RopeConfig* main_rope(const ModelConfig& config) {
  const RopeConfig* whole = rope_of_layers(config, false);
  return whole != nullptr ? whole : rope_of_layers(config, true);
}

Json router_score_name(const ModelConfig& config) {
  return config.moe.score == RouterScore::sigmoid ? "sigmoid" : "softmax";
}
Json n_leading_dense_layers(const ModelConfig& config) {
  const auto first =
      std::find_if(config.layers.begin(), config.layers.end(), [](const LayerConfig& layer) { return layer.has_experts; });
  return first - config.layers.begin();
}

namespace {

Json theta_of(const RopeConfig* rope) { return rope != nullptr ? Json(rope->theta) : Json(); }

Json epsilon(const ModelConfig& config) { return config.norm.eps; }
Json largest_alibi_bias(const ModelConfig& config) { return config.alibi_slopes.empty() ? Json() : Json(8.0); }
Json original_context(const ModelConfig& config) {
  const RopeConfig* const rope = main_rope(config);
  const bool is_said = rope != nullptr && rope->original_max_position_embeddings > 0;
  return is_said ? Json(rope->original_max_position_embeddings) : Json();
}
Json growth_of_scores(const ModelConfig& config) {
  const RopeConfig* const rope = main_rope(config);
  return rope != nullptr && rope->mscale_all_dim > 0 ? Json(rope->mscale_all_dim) : Json();
}

/// The interval of regular models, of which every n-th layer is one of attention.
Json attention_interval(const ModelConfig& config) {
  const auto first = std::find_if(config.layers.begin(), config.layers.end(),
                                  [](const LayerConfig& layer) { return !layer.is_recurrent(); });
  return first - config.layers.begin() + 1;
}

constexpr std::array kKnownGgufValues = {
    KnownGgufValue{"context_length", [](const ModelConfig& config) { return Json(config.max_position_embeddings); }},
    KnownGgufValue{"embedding_length", [](const ModelConfig& config) { return Json(config.hidden_size); }},
    KnownGgufValue{"block_count", [](const ModelConfig& config) { return Json(config.n_layers); }},
    KnownGgufValue{"feed_forward_length", [](const ModelConfig& config) { return Json(config.intermediate_size); }},
    KnownGgufValue{"attention.head_count", [](const ModelConfig& config) { return Json(config.n_heads); }},
    KnownGgufValue{"attention.head_count_kv", [](const ModelConfig& config) { return Json(config.n_kv_heads); }},
    KnownGgufValue{"attention.causal", [](const ModelConfig& config) { return Json(config.is_causal); }},
    KnownGgufValue{"attention.key_length", [](const ModelConfig& config) { return Json(config.head_dim); }},
    KnownGgufValue{"attention.layer_norm_epsilon", epsilon},
    KnownGgufValue{"attention.layer_norm_rms_epsilon", epsilon},
    KnownGgufValue{"attention.max_alibi_bias", largest_alibi_bias},
    KnownGgufValue{"rope.freq_base", [](const ModelConfig& config) { return theta_of(main_rope(config)); }},
    KnownGgufValue{"rope.freq_base_swa", [](const ModelConfig& config) { return theta_of(rope_of_layers(config, true)); }},
    KnownGgufValue{"rope.scaling.original_context_length", original_context},
    KnownGgufValue{"rope.scaling.yarn_log_multiplier", growth_of_scores},
    KnownGgufValue{"shortconv.l_cache", [](const ModelConfig& config) { return Json(config.short_conv.kernel); }},
    KnownGgufValue{"ssm.conv_kernel", [](const ModelConfig& config) { return Json(config.delta_net.conv_kernel); }},
    KnownGgufValue{"ssm.state_size", [](const ModelConfig& config) { return Json(config.delta_net.key_dim); }},
    KnownGgufValue{"ssm.group_count", [](const ModelConfig& config) { return Json(config.delta_net.n_key_heads); }},
    KnownGgufValue{"ssm.time_step_rank", [](const ModelConfig& config) { return Json(config.delta_net.n_heads); }},
    KnownGgufValue{"ssm.inner_size", [](const ModelConfig& config) { return Json(config.delta_net.v_size()); }},
    KnownGgufValue{"full_attention_interval", attention_interval},
    KnownGgufValue{"attention.shared_kv_layers",
                   [](const ModelConfig& config) { return Json(config.n_layers - config.n_cached_layers()); }},
    KnownGgufValue{"embedding_length_per_layer_input",
                   [](const ModelConfig& config) { return Json(config.per_layer.size); }},
    KnownGgufValue{"altup.active_idx", [](const ModelConfig& config) { return Json(config.altup.active); }},
    KnownGgufValue{"altup.num_inputs", [](const ModelConfig& config) { return Json(config.altup.n_streams); }},
    KnownGgufValue{
        "final_logit_softcapping",
        [](const ModelConfig& config) { return config.logit_soft_cap > 0 ? Json(config.logit_soft_cap) : Json(); }},
    KnownGgufValue{"expert_count", [](const ModelConfig& config) { return Json(config.moe.n_experts); }},
    KnownGgufValue{"expert_used_count", [](const ModelConfig& config) { return Json(config.moe.top_k); }},
    KnownGgufValue{"expert_feed_forward_length", [](const ModelConfig& config) { return Json(config.moe.expert_size); }},
    KnownGgufValue{"expert_shared_count",
                   [](const ModelConfig& config) {
                     return Json(config.has_experts() ? config.moe.shared_size / config.moe.expert_size : 0);
                   }},
    KnownGgufValue{"expert_weights_scale", [](const ModelConfig& config) { return Json(config.moe.scale); }},
    KnownGgufValue{"expert_weights_norm", [](const ModelConfig& config) { return Json(config.moe.normalises); }},
    KnownGgufValue{"expert_gating_func", router_score_name},
    KnownGgufValue{"leading_dense_block_count", n_leading_dense_layers},
    KnownGgufValue{"expert_shared_feed_forward_length",
                   [](const ModelConfig& config) { return Json(config.moe.shared_size); }},
    // Granite divides by logits_scaling; an absent value means 1 for both.
    KnownGgufValue{"logit_scale", [](const ModelConfig& config) { return Json(config.logit_multiplier); }},
};

}  // namespace

std::span<const KnownGgufValue> known_gguf_values() { return kKnownGgufValues; }

}  // namespace lathe::engine
