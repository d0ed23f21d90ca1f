// SPDX-License-Identifier: Apache-2.0
// Gemma 4, text: heads of another size in the layers that see the whole context, whose RoPE turns a part of each head's
// pairs; the last layers read the K and V of earlier ones; V has a norm without weight and may be K's product; a layer's
// output is multiplied by a number. The small models embed each token for every layer, one model has experts in addition to
// its MLPs. Source: Gemma Team 2026; Hugging Face transformers, Gemma4TextConfig, Gemma4UnifiedTextConfig, modeling_gemma4.
#include <fmt/format.h>

#include "engine/model/gemma_config.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kUnified = "gemma4_unified_text";
constexpr std::int64_t kUsualGlobalHeadDim = 512, kGemma4Period = 6;

/// Sizes of the layers that see the whole context. Newer files list them by layer, in per_layer_config.
void read_global_heads(ConfigReader& reader, ModelConfig& config, bool k_is_v) {
  const std::int64_t head_dim = reader.integer_or("global_head_dim", kUsualGlobalHeadDim, 1, kMaxHeadDim);
  const std::int64_t listed = reader.integer_or("num_global_key_value_heads", config.n_kv_heads, 1, config.n_heads);
  for (LayerConfig& layer : config.layers) {
    if (layer.window > 0) continue;
    layer.head_dim = head_dim;
    if (k_is_v) layer.n_kv_heads = listed;
  }
}

void read_listed_heads(ConfigReader& reader, ModelConfig& config) {
  constexpr std::string_view kKey = "per_layer_config";
  const Json* const all = reader.object(kKey);
  if (all == nullptr) return;
  for (const auto& [name, sizes] : all->items()) {
    const std::string key = fmt::format("{}.{:.32}", kKey, name);
    const bool is_number = !name.empty() && name.size() <= 4 && name.find_first_not_of("0123456789") == std::string::npos;
    const std::int64_t i = is_number ? std::stoll(name) : -1;
    if (i < 0 || i >= config.n_layers || !sizes.is_object()) {
      reader.fault(key, fmt::format("expected the sizes of one of {} layers", config.n_layers));
      return;
    }
    for (const auto& [size, value] : sizes.items()) {
      if (size != "head_dim" && size != "num_key_value_heads") reader.unmet(fmt::format("{:.32} by layer ({})", size, key));
    }
    LayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
    layer.head_dim = reader.integer_or(key + ".head_dim", config.head_dim, 1, kMaxHeadDim);
    layer.n_kv_heads = reader.integer_or(key + ".num_key_value_heads", config.n_kv_heads, 1, config.n_heads);
  }
}

/// The size of the heads in layers of one kind, which share a RoPE.
std::int64_t head_dim_of_kind(ConfigReader& reader, const ModelConfig& config, bool slides) {
  std::int64_t dim = 0;
  for (const LayerConfig& layer : config.layers) {
    if ((layer.window > 0) != slides) continue;
    const std::int64_t own = config.head_dim_of(layer);
    if (dim != 0 && own != dim) {
      reader.fault("per_layer_config", fmt::format("head_dim is {} and {} in layers of one type", dim, own));
    }
    dim = own;
  }
  return dim == 0 ? config.head_dim : dim;
}

void read_gemma4_ropes(ConfigReader& reader, ModelConfig& config) {
  const RopeDefaults full{.theta = 1e6, .rotary_dim = head_dim_of_kind(reader, config, false), .may_be_proportional = true};
  const RopeDefaults local{.theta = 1e4, .rotary_dim = head_dim_of_kind(reader, config, true), .may_be_proportional = true};
  if (has_rope_object(reader)) {
    config.ropes = {read_rope(reader, full, config.max_position_embeddings, "full_attention"),
                    read_rope(reader, local, config.max_position_embeddings, "sliding_attention")};
  } else {
    constexpr std::int64_t kUsualShare = 4;  // of the pairs of a head
    config.ropes = {{.theta = full.theta,
                     .rotary_dim = full.rotary_dim,
                     .scaling = RopeScaling::proportional,
                     .n_rotated_pairs = full.rotary_dim / 2 / kUsualShare},
                    {.theta = local.theta, .rotary_dim = local.rotary_dim}};
  }
  for (LayerConfig& layer : config.layers) layer.rope = layer.window > 0 ? 1 : 0;
}

/// MLPs of the layers that use the K and V of others may be twice as wide.
void widen_sharing_layers(ConfigReader& reader, ModelConfig& config) {
  if (!reader.boolean_or("use_double_wide_mlp", false)) return;
  for (LayerConfig& layer : config.layers) {
    if (layer.shares_kv()) layer.intermediate_size = 2 * config.intermediate_size;
  }
}

void read_gemma4_moe(ConfigReader& reader, ModelConfig& config) {
  if (!reader.boolean_or("enable_moe_block", false)) {
    reader.integer_or("num_experts", 0, 0, kMaxExperts);
    return;
  }
  MoeConfig& moe = config.moe;
  moe.n_experts = reader.integer("num_experts", 1, kMaxExperts);
  moe.top_k = reader.integer("top_k_experts", 1, kMaxExperts);
  if (moe.top_k > moe.n_experts) {
    reader.fault("top_k_experts", fmt::format("got {}, but there are only {} experts", moe.top_k, moe.n_experts));
    moe.top_k = moe.n_experts;
  }
  moe.expert_size = reader.integer("moe_intermediate_size", 1, kMaxWidth);
  moe.normalises = true;
  moe.adds_mlp = true;
  for (LayerConfig& layer : config.layers) layer.has_experts = true;
}

void read_gemma4_attention(ConfigReader& reader, ModelConfig& config, std::int64_t usual_window) {
  config.attention_scale = 1;
  config.has_v_norm = true;
  norm_queries(config, QkNorm::head);
  const std::int64_t window = reader.integer_or("sliding_window", usual_window, 1, kMaxPositions);
  read_windows(reader, config, window, [](std::int64_t layer) { return (layer + 1) % kGemma4Period != 0; });
  if (!config.layers.empty()) config.layers.back().window = 0;  // whatever the file says
  const bool k_is_v = reader.boolean_or("attention_k_eq_v", false);
  for (LayerConfig& layer : config.layers) layer.k_is_v = k_is_v && layer.window == 0;
  if (reader.has("per_layer_config")) read_listed_heads(reader, config);
  else read_global_heads(reader, config, k_is_v);
  // "vision" lets images see later tokens, text alone never.
  if (reader.text_or("use_bidirectional_attention", "vision") == "all")
    reader.unmet("attention to later tokens (use_bidirectional_attention)");
}

void read_gemma4_config(ConfigReader& reader, ModelConfig& config) {
  const bool is_unified = reader.text_or("model_type", "") == kUnified;
  read_sizes(reader, config,
             {.n_kv_heads = 4, .head_dim = 256, .n_positions = is_unified ? 262144 : 131072, .tied_embeddings = true});
  read_gemma_parts(reader, config);
  config.norm.plus_one = false;
  config.norm_place = NormPlace::around;
  config.has_layer_scalar = true;
  config.logit_soft_cap =
      reader.is_null("final_logit_softcapping") ? 0 : reader.number_or("final_logit_softcapping", 0, 0, 1e6);
  read_gemma4_attention(reader, config, is_unified ? 1024 : 512);
  read_gemma4_ropes(reader, config);
  share_last_kv(reader, config, 0);
  widen_sharing_layers(reader, config);
  if (is_unified) return;
  read_per_layer(reader, config);
  if (config.per_layer.exists() && config.per_layer.vocab_size < config.vocab_size) {
    reader.fault("vocab_size_per_layer_input",
                 fmt::format("got {}, expected at least vocab_size {}", config.per_layer.vocab_size, config.vocab_size));
  }
  read_gemma4_moe(reader, config);
}

constexpr std::array kGemma4Extras = {
    TensorName{WeightRole::layer_scalar, "layers.{}.layer_scalar"},
    TensorName{WeightRole::per_layer_embedding, "embed_tokens_per_layer.weight"},
    TensorName{WeightRole::per_layer_model_proj, "per_layer_model_projection.weight"},
    TensorName{WeightRole::per_layer_proj_norm, "per_layer_projection_norm.weight"},
    TensorName{WeightRole::per_layer_gate, "layers.{}.per_layer_input_gate.weight"},
    TensorName{WeightRole::per_layer_proj, "layers.{}.per_layer_projection.weight"},
    TensorName{WeightRole::per_layer_norm, "layers.{}.post_per_layer_input_norm.weight"},
    TensorName{WeightRole::router, "layers.{}.router.proj.weight"},
    TensorName{WeightRole::router_norm, "layers.{}.router.scale"},
    TensorName{WeightRole::expert_scale, "layers.{}.router.per_expert_scale"},
    TensorName{WeightRole::expert_gate_up, "layers.{}.experts.{}.gate_up_proj"},
    TensorName{WeightRole::expert_down, "layers.{}.experts.{}.down_proj"},
    TensorName{WeightRole::dense_out_norm, "layers.{}.post_feedforward_layernorm_1.weight"},
    TensorName{WeightRole::expert_norm, "layers.{}.pre_feedforward_layernorm_2.weight"},
    TensorName{WeightRole::expert_out_norm, "layers.{}.post_feedforward_layernorm_2.weight"},
};
constexpr auto kGemma4Tensors = joined(kGemma2Tensors, kGemma4Extras);
constexpr std::array<std::string_view, 2> kGemma4OtherNames = {kUnified, "Gemma4UnifiedForCausalLM"};

}  // namespace

extern constexpr Architecture kGemma4{
    .name = "Gemma4ForCausalLM",
    .model_type = "gemma4_text",
    .tensors = kGemma4Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gemma4_config,
    .other_names = kGemma4OtherNames,
};

}  // namespace lathe::engine
