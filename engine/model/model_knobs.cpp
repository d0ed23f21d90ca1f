// SPDX-License-Identifier: Apache-2.0
#include "engine/model/model_knobs.h"

#include <algorithm>
#include <array>
#include <utility>

namespace lathe::engine {
namespace {

using kernels::Activation;
using kernels::NormKind;
using kernels::RopeStyle;

template <class T>
using Name = std::pair<T, std::string_view>;

constexpr std::array kNormKinds = {Name<NormKind>{NormKind::rms, "rms"}, Name<NormKind>{NormKind::layer, "layer"}};
constexpr std::array kNormPlaces = {
    Name<NormPlace>{NormPlace::before, "before"}, Name<NormPlace>{NormPlace::around, "around"},
    Name<NormPlace>{NormPlace::behind, "behind"}, Name<NormPlace>{NormPlace::on_stream, "on_stream"}};
constexpr std::array kResiduals = {Name<Residual>{Residual::sequential, "sequential"},
                                   Name<Residual>{Residual::parallel, "parallel"},
                                   Name<Residual>{Residual::parallel_two_norms, "parallel_two_norms"}};
constexpr std::array kQkNorms = {Name<QkNorm>{QkNorm::none, "none"}, Name<QkNorm>{QkNorm::head, "head"},
                                 Name<QkNorm>{QkNorm::own_heads, "own_heads"}, Name<QkNorm>{QkNorm::all_heads, "all_heads"}};
constexpr std::array kActivations = {Name<Activation>{Activation::silu, "silu"},
                                     Name<Activation>{Activation::gelu, "gelu"},
                                     Name<Activation>{Activation::gelu_tanh, "gelu_tanh"},
                                     Name<Activation>{Activation::relu, "relu"},
                                     Name<Activation>{Activation::clamped_silu, "clamped_silu"},
                                     Name<Activation>{Activation::relu_squared, "relu_squared"}};
constexpr std::array kRopeStyles = {Name<RopeStyle>{RopeStyle::half, "half"},
                                    Name<RopeStyle>{RopeStyle::interleaved, "interleaved"}};
constexpr std::array kRouterScores = {
    Name<RouterScore>{RouterScore::softmax, "softmax"}, Name<RouterScore>{RouterScore::softmax_chosen, "softmax_chosen"},
    Name<RouterScore>{RouterScore::sigmoid, "sigmoid"}, Name<RouterScore>{RouterScore::sparse_mixer, "sparse_mixer"}};
constexpr std::array kMixers = {Name<LayerMixer>{LayerMixer::attention, "attention"},
                                Name<LayerMixer>{LayerMixer::gated_delta_net, "gated_delta_net"},
                                Name<LayerMixer>{LayerMixer::short_conv, "short_conv"}};
constexpr std::array kGroupScores = {Name<GroupScore>{GroupScore::largest, "largest"},
                                     Name<GroupScore>{GroupScore::best_two, "best_two"}};

template <class T, std::size_t n>
std::string_view name_in(const std::array<Name<T>, n>& names, T value) {
  return std::find_if(names.begin(), names.end(), [&](const auto& row) { return row.first == value; })->second;
}

/// Null where 0 means "none".
OrderedJson unless_zero(double value) { return value == 0 ? OrderedJson() : OrderedJson(value); }
OrderedJson unless_zero(std::int64_t value) { return value == 0 ? OrderedJson() : OrderedJson(value); }
OrderedJson if_given(const std::optional<double>& value) { return value ? OrderedJson(*value) : OrderedJson(); }

constexpr unsigned of(RopeScaling scaling) { return 1U << static_cast<unsigned>(scaling); }

/// A parameter of RoPE that only some scalings read.
struct RopeKnob {
  std::string_view name;
  unsigned scalings;
  OrderedJson (*value)(const RopeConfig&);
};
constexpr std::array kRopeKnobs = {
    RopeKnob{"factor",
             of(RopeScaling::linear) | of(RopeScaling::dynamic) | of(RopeScaling::llama3) | of(RopeScaling::yarn) |
                 of(RopeScaling::proportional),
             [](const RopeConfig& rope) { return OrderedJson(rope.factor); }},
    RopeKnob{"low_freq_factor", of(RopeScaling::llama3),
             [](const RopeConfig& rope) { return OrderedJson(rope.low_freq_factor); }},
    RopeKnob{"high_freq_factor", of(RopeScaling::llama3),
             [](const RopeConfig& rope) { return OrderedJson(rope.high_freq_factor); }},
    RopeKnob{"beta_fast", of(RopeScaling::yarn), [](const RopeConfig& rope) { return OrderedJson(rope.beta_fast); }},
    RopeKnob{"beta_slow", of(RopeScaling::yarn), [](const RopeConfig& rope) { return OrderedJson(rope.beta_slow); }},
    RopeKnob{"truncate", of(RopeScaling::yarn), [](const RopeConfig& rope) { return OrderedJson(rope.truncate); }},
    RopeKnob{"mscale", of(RopeScaling::yarn), [](const RopeConfig& rope) { return unless_zero(rope.mscale); }},
    RopeKnob{"mscale_all_dim", of(RopeScaling::yarn),
             [](const RopeConfig& rope) { return unless_zero(rope.mscale_all_dim); }},
    RopeKnob{"attention_factor", of(RopeScaling::yarn) | of(RopeScaling::longrope),
             [](const RopeConfig& rope) { return if_given(rope.attention_factor); }},
    RopeKnob{"rotated_pairs", of(RopeScaling::proportional),
             [](const RopeConfig& rope) { return OrderedJson(rope.n_rotated_pairs); }},
    RopeKnob{"short_factor", of(RopeScaling::longrope),
             [](const RopeConfig& rope) { return OrderedJson(rope.short_factor); }},
    RopeKnob{"long_factor", of(RopeScaling::longrope), [](const RopeConfig& rope) { return OrderedJson(rope.long_factor); }},
    RopeKnob{"short_attention_factor", of(RopeScaling::longrope),
             [](const RopeConfig& rope) { return if_given(rope.short_attention_factor); }},
    RopeKnob{"long_attention_factor", of(RopeScaling::longrope),
             [](const RopeConfig& rope) { return if_given(rope.long_attention_factor); }},
};

OrderedJson rope_json(const RopeConfig& rope) {
  OrderedJson json = {{"theta", rope.theta},
                      {"rotary_dim", rope.rotary_dim},
                      {"style", name_in(kRopeStyles, rope.style)},
                      {"scaling", name_of(rope.scaling)},
                      {"original_max_position_embeddings", unless_zero(rope.original_max_position_embeddings)},
                      {"still", rope.is_still},
                      {"query_growth", unless_zero(rope.query_growth)},
                      {"growth_offset", unless_zero(rope.growth_offset)},
                      {"grown_dim", unless_zero(rope.grown_dim)}};
  for (const RopeKnob& knob : kRopeKnobs) {
    if ((knob.scalings & of(rope.scaling)) != 0) json[std::string(knob.name)] = knob.value(rope);
  }
  return json;
}

OrderedJson ropes_json(const ModelConfig& config) {
  OrderedJson all = OrderedJson::array();
  for (const RopeConfig& rope : config.ropes) all.push_back(rope_json(rope));
  return all;
}

std::string_view positions_name(const ModelConfig& config) {
  if (!config.ropes.empty()) return "rope";
  if (config.n_learned_positions > 0) return "learned";
  return config.alibi_slopes.empty() ? "none" : "alibi";
}

template <class Value>
OrderedJson by_layer(const ModelConfig& config, const Value& value) {
  OrderedJson all = OrderedJson::array();
  for (const LayerConfig& layer : config.layers) all.push_back(value(layer));
  return all;
}

/// Null where all layers have the model's own sizes, and K and V of their own.
template <class Value>
OrderedJson by_size(const ModelConfig& config, const Value& value) {
  return config.has_sizes_by_layer() ? by_layer(config, value) : OrderedJson();
}

OrderedJson norm_json(const NormConfig& norm) {
  return {{"kind", name_in(kNormKinds, norm.kind)},
          {"eps", norm.eps},
          {"bias", norm.has_bias},
          {"plus_one", norm.plus_one},
          {"weightless", norm.is_weightless}};
}

OrderedJson latent_json(const LatentConfig& latent) {
  if (!latent.exists()) return {};
  return {{"kv_rank", latent.kv_rank},
          {"q_rank", unless_zero(latent.q_rank)},
          {"qk_nope_head_dim", latent.qk_nope_head_dim},
          {"qk_rope_head_dim", latent.qk_rope_head_dim},
          {"v_dim", latent.v_dim},
          {"bias", latent.has_bias}};
}

OrderedJson delta_net_json(const ModelConfig& config) {
  const DeltaNetConfig& net = config.delta_net;
  if (!net.exists()) return {};
  return {{"key_heads", net.n_key_heads},
          {"heads", net.n_heads},
          {"key_dim", net.key_dim},
          {"value_dim", net.value_dim},
          {"conv_kernel", net.conv_kernel},
          {"state_values", net.n_heads * net.key_dim * net.value_dim + (net.conv_kernel - 1) * net.qkv_size()}};
}

OrderedJson experts_json(const ModelConfig& config) {
  const MoeConfig& moe = config.moe;
  if (moe.n_experts == 0) return {};
  return {{"n_experts", moe.n_experts},
          {"top_k", moe.top_k},
          {"expert_size", moe.expert_size},
          {"score", name_in(kRouterScores, moe.score)},
          {"normalises", moe.normalises},
          {"scale", moe.scale},
          {"jitter", unless_zero(moe.jitter)},
          {"n_groups", moe.n_groups},
          {"topk_groups", moe.topk_groups},
          {"group_score", name_in(kGroupScores, moe.group_score)},
          {"router_bias", moe.has_router_bias},
          {"score_correction_bias", moe.has_score_correction_bias},
          {"expert_bias", moe.has_expert_bias},
          {"shared_size", unless_zero(moe.shared_size)},
          {"shared_gate", moe.has_shared_gate},
          {"weighs_input", moe.weighs_input},
          {"adds_mlp", moe.adds_mlp},
          {"of_layers", by_layer(config, [](const LayerConfig& layer) { return OrderedJson(layer.has_experts); })}};
}

struct Knob {
  std::string_view name;
  OrderedJson (*value)(const ModelConfig&);
};

// THE TABLE of knobs, in the order of ModelConfig.
constexpr std::array kKnobs = {
    Knob{"heads", [](const ModelConfig& config) { return OrderedJson(config.n_heads); }},
    Knob{"kv_heads", [](const ModelConfig& config) { return OrderedJson(config.n_kv_heads); }},
    Knob{"head_dim", [](const ModelConfig& config) { return OrderedJson(config.head_dim); }},
    Knob{"kv_heads_of_layers",
         [](const ModelConfig& config) {
           return by_size(config, [&](const LayerConfig& layer) { return OrderedJson(config.kv_heads_of(layer)); });
         }},
    Knob{"head_dim_of_layers",
         [](const ModelConfig& config) {
           return by_size(config, [&](const LayerConfig& layer) { return OrderedJson(config.head_dim_of(layer)); });
         }},
    Knob{"intermediate_of_layers",
         [](const ModelConfig& config) {
           return by_size(config, [&](const LayerConfig& layer) { return OrderedJson(config.inner_of(layer)); });
         }},
    Knob{"cached_layers", [](const ModelConfig& config) { return OrderedJson(config.n_cached_layers()); }},
    Knob{"kv_source_of_layers",
         [](const ModelConfig& config) {
           return by_size(config, [](const LayerConfig& layer) {
             return layer.shares_kv() ? OrderedJson(layer.kv_source) : OrderedJson();
           });
         }},
    Knob{"k_is_v_of_layers",
         [](const ModelConfig& config) {
           return by_size(config, [](const LayerConfig& layer) { return OrderedJson(layer.k_is_v); });
         }},
    Knob{"norm", [](const ModelConfig& config) { return norm_json(config.norm); }},
    Knob{"out_norm_form",
         [](const ModelConfig& config) { return config.out_norm ? norm_json(*config.out_norm) : OrderedJson(); }},
    Knob{"final_norm_form",
         [](const ModelConfig& config) { return config.final_norm ? norm_json(*config.final_norm) : OrderedJson(); }},
    Knob{
        "embedding_norm_form",
        [](const ModelConfig& config) { return config.embedding_norm ? norm_json(*config.embedding_norm) : OrderedJson(); }},
    Knob{"norm_place", [](const ModelConfig& config) { return OrderedJson(name_in(kNormPlaces, config.norm_place)); }},
    Knob{"final_norm", [](const ModelConfig& config) { return OrderedJson(config.has_final_norm); }},
    Knob{"residual", [](const ModelConfig& config) { return OrderedJson(name_in(kResiduals, config.residual)); }},
    Knob{"causal", [](const ModelConfig& config) { return OrderedJson(config.is_causal); }},
    Knob{"head", [](const ModelConfig& config) { return OrderedJson(config.has_head); }},
    Knob{"positions", [](const ModelConfig& config) { return OrderedJson(positions_name(config)); }},
    Knob{"ropes", ropes_json},
    Knob{"rope_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [&](const LayerConfig& layer) {
             return layer.rope < 0 || config.ropes.empty() ? OrderedJson() : OrderedJson(layer.rope);
           });
         }},
    Knob{"learned_positions", [](const ModelConfig& config) { return unless_zero(config.n_learned_positions); }},
    Knob{"position_offset", [](const ModelConfig& config) { return unless_zero(config.position_offset); }},
    Knob{"alibi_slopes",
         [](const ModelConfig& config) {
           return config.alibi_slopes.empty() ? OrderedJson() : OrderedJson(config.alibi_slopes);
         }},
    Knob{"rounded_alibi_scale", [](const ModelConfig& config) { return unless_zero(config.rounded_alibi_scale); }},
    Knob{"token_types", [](const ModelConfig& config) { return unless_zero(config.n_token_types); }},
    Knob{"window_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [](const LayerConfig& layer) { return unless_zero(layer.window); });
         }},
    Knob{"score_factor_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [](const LayerConfig& layer) { return OrderedJson(layer.score_factor); });
         }},
    Knob{"qk_norm", [](const ModelConfig& config) { return OrderedJson(name_in(kQkNorms, config.qk_norm)); }},
    Knob{"qk_norm_form",
         [](const ModelConfig& config) {
           return config.qk_norm == QkNorm::none ? OrderedJson() : norm_json(config.qk_norm_form);
         }},
    Knob{"qk_norm_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [](const LayerConfig& layer) { return OrderedJson(layer.norms_queries); });
         }},
    Knob{"norms_after_rope", [](const ModelConfig& config) { return OrderedJson(config.norms_after_rope); }},
    Knob{"attention_gates", [](const ModelConfig& config) { return unless_zero(config.n_attention_gates); }},
    Knob{"chunks", [](const ModelConfig& config) { return OrderedJson(config.has_chunks); }},
    Knob{"v_norm", [](const ModelConfig& config) { return OrderedJson(config.has_v_norm); }},
    Knob{"attention_scale", [](const ModelConfig& config) { return OrderedJson(config.attention_scale); }},
    Knob{"attention_soft_cap", [](const ModelConfig& config) { return unless_zero(config.attention_soft_cap); }},
    Knob{"logit_soft_cap", [](const ModelConfig& config) { return unless_zero(config.logit_soft_cap); }},
    Knob{"clip_qkv", [](const ModelConfig& config) { return unless_zero(config.clip_qkv); }},
    Knob{"sinks", [](const ModelConfig& config) { return OrderedJson(config.has_sinks); }},
    Knob{"latent_attention", [](const ModelConfig& config) { return latent_json(config.latent); }},
    Knob{"output_gate", [](const ModelConfig& config) { return OrderedJson(config.has_output_gate); }},
    Knob{"mixer_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [](const LayerConfig& layer) { return OrderedJson(name_in(kMixers, layer.mixer)); });
         }},
    Knob{"gated_delta_net", delta_net_json},
    Knob{"short_conv_kernel", [](const ModelConfig& config) { return unless_zero(config.short_conv.kernel); }},
    Knob{"activation", [](const ModelConfig& config) { return OrderedJson(name_in(kActivations, config.activation)); }},
    Knob{"gated_mlp", [](const ModelConfig& config) { return OrderedJson(config.is_gated); }},
    Knob{"experts", experts_json},
    Knob{"per_layer_embeddings",
         [](const ModelConfig& config) {
           const PerLayerConfig& per_layer = config.per_layer;
           return per_layer.exists() ? OrderedJson{{"size", per_layer.size}, {"vocab_size", per_layer.vocab_size}}
                                     : OrderedJson();
         }},
    Knob{"streams",
         [](const ModelConfig& config) {
           const AltUpConfig& altup = config.altup;
           return altup.exists() ? OrderedJson{{"n_streams", altup.n_streams},
                                               {"active", altup.active},
                                               {"scales_corrected", altup.scales_corrected},
                                               {"laurel_rank", altup.laurel_rank}}
                                 : OrderedJson();
         }},
    Knob{"activation_sparsity_of_layers",
         [](const ModelConfig& config) {
           return by_layer(config, [](const LayerConfig& layer) { return unless_zero(layer.activation_sparsity); });
         }},
    Knob{"layer_scalar", [](const ModelConfig& config) { return OrderedJson(config.has_layer_scalar); }},
    Knob{"embedding_multiplier", [](const ModelConfig& config) { return OrderedJson(config.embedding_multiplier); }},
    Knob{"residual_multiplier", [](const ModelConfig& config) { return OrderedJson(config.residual_multiplier); }},
    Knob{"logit_multiplier", [](const ModelConfig& config) { return OrderedJson(config.logit_multiplier); }},
    Knob{"embedding_norm", [](const ModelConfig& config) { return OrderedJson(config.has_embedding_norm); }},
    Knob{"embedding_size", [](const ModelConfig& config) { return OrderedJson(config.embedding_size); }},
    Knob{"tied_embeddings", [](const ModelConfig& config) { return OrderedJson(config.tied_embeddings); }},
    Knob{"normalised_head", [](const ModelConfig& config) { return OrderedJson(config.normalises_head); }},
    Knob{"qkv_bias", [](const ModelConfig& config) { return OrderedJson(config.qkv_bias); }},
    Knob{"attention_out_bias", [](const ModelConfig& config) { return OrderedJson(config.attention_out_bias); }},
    Knob{"mlp_bias", [](const ModelConfig& config) { return OrderedJson(config.mlp_bias); }},
    Knob{"head_bias", [](const ModelConfig& config) { return OrderedJson(config.head_bias); }},
    Knob{"bos_id", [](const ModelConfig& config) { return config.bos_id ? OrderedJson(*config.bos_id) : OrderedJson(); }},
};

}  // namespace

OrderedJson knobs_of(const ModelConfig& config) {
  OrderedJson json = OrderedJson::object();
  for (const Knob& knob : kKnobs) json[std::string(knob.name)] = knob.value(config);
  return json;
}

}  // namespace lathe::engine
