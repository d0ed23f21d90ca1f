// SPDX-License-Identifier: Apache-2.0
#include "engine/model/weight_roles.h"

#include <algorithm>
#include <array>

namespace lathe::engine {

namespace {

// The first role of each list decides whether the files use that spelling.
constexpr WeightRole kFusedExperts[] = {WeightRole::expert_gate_up, WeightRole::expert_gate_up_bias};
constexpr WeightRole kSplitExperts[] = {WeightRole::expert_gate, WeightRole::expert_up, WeightRole::expert_gate_bias,
                                        WeightRole::expert_up_bias};
constexpr WeightRole kNormsOfHeads[] = {WeightRole::q_head_norm, WeightRole::k_head_norm};
constexpr WeightRole kNormsInOne[] = {WeightRole::q_norm, WeightRole::k_norm};
constexpr WeightRole kQkvInOne[] = {WeightRole::qkv, WeightRole::qkv_bias};
constexpr WeightRole kQkvApart[] = {WeightRole::q,      WeightRole::k,      WeightRole::v,
                                    WeightRole::q_bias, WeightRole::k_bias, WeightRole::v_bias};
constexpr WeightRole kLatentOfHeads[] = {WeightRole::latent_head_k, WeightRole::latent_head_v};
constexpr WeightRole kLatentInOne[] = {WeightRole::latent_kv};
constexpr WeightRole kDeltaInOne[] = {WeightRole::delta_qkvz};
constexpr WeightRole kDeltaApart[] = {WeightRole::delta_qkv, WeightRole::delta_z};
constexpr std::array kRoleSpellings = {Spellings{kFusedExperts, kSplitExperts}, Spellings{kNormsInOne, kNormsOfHeads},
                                       Spellings{kQkvInOne, kQkvApart}, Spellings{kLatentOfHeads, kLatentInOne},
                                       Spellings{kDeltaInOne, kDeltaApart}};

/// True for tensors that layers of one mixer have and others have not.
bool is_of_delta_net(WeightRole role) { return role >= WeightRole::delta_qkv && role <= WeightRole::delta_out; }
bool is_of_short_conv(WeightRole role) {
  return role >= WeightRole::short_conv_in && role <= WeightRole::short_conv_out_bias;
}
bool is_of_attention(WeightRole role) { return role >= WeightRole::q && role <= WeightRole::latent_head_v; }

bool has_mixer_of(WeightRole role, const LayerConfig& layer) {
  if (is_of_delta_net(role)) return layer.mixer == LayerMixer::gated_delta_net;
  if (is_of_short_conv(role)) return layer.mixer == LayerMixer::short_conv;
  return !is_of_attention(role) || layer.mixer == LayerMixer::attention;
}

/// Rows of q_proj: those of Q, and of its gate if there is one.
std::int64_t rows_of_queries(const ModelConfig& config) { return (config.has_output_gate ? 2 : 1) * config.q_size(); }

std::vector<std::int64_t> shape_of_head_norm(const ModelConfig& config, std::int64_t n_heads, std::int64_t head_dim) {
  switch (config.qk_norm) {
    case QkNorm::none: return {};
    case QkNorm::head: return {head_dim};
    case QkNorm::own_heads: return {n_heads, head_dim};
    case QkNorm::all_heads: return {n_heads * head_dim};
  }
  return {};
}

/// Shapes of several residual streams.
std::vector<std::int64_t> shape_of_altup(WeightRole role, const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size, n = config.altup.n_streams, rank = config.altup.laurel_rank;
  switch (role) {
    case WeightRole::altup_proj_1:
    case WeightRole::altup_proj_2:
    case WeightRole::altup_proj_3:
    case WeightRole::altup_unembed_1:
    case WeightRole::altup_unembed_2:
    case WeightRole::altup_unembed_3: return {hidden, hidden};
    case WeightRole::altup_router: return {n, hidden};
    case WeightRole::altup_predict: return {n * n, n};
    case WeightRole::altup_correct: return {n, n};
    case WeightRole::laurel_left: return {rank, hidden};
    case WeightRole::laurel_right: return {hidden, rank};
    case WeightRole::altup_router_norm:
    case WeightRole::altup_scale:
    case WeightRole::laurel_norm: return {hidden};
    default: return {};
  }
}

/// Shapes of per-layer embeddings, and of what layers with an MLP and experts have in addition.
std::vector<std::int64_t> shape_of_per_layer(WeightRole role, const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size, size = config.per_layer.size, all = config.n_layers * size;
  switch (role) {
    case WeightRole::per_layer_embedding: return {config.per_layer.vocab_size, all};
    case WeightRole::per_layer_model_proj: return {all, hidden};
    case WeightRole::per_layer_proj_norm: return {size};
    case WeightRole::per_layer_gate: return {size, hidden};
    case WeightRole::per_layer_proj: return {hidden, size};
    case WeightRole::layer_scalar: return {1};
    case WeightRole::expert_scale: return {config.moe.n_experts};
    case WeightRole::per_layer_norm:
    case WeightRole::router_norm:
    case WeightRole::dense_out_norm:
    case WeightRole::expert_norm:
    case WeightRole::expert_out_norm: return {hidden};
    default: return shape_of_altup(role, config);
  }
}

/// Shapes of gated delta net.
std::vector<std::int64_t> shape_of_delta_net(WeightRole role, const ModelConfig& config) {
  const DeltaNetConfig& net = config.delta_net;
  const std::int64_t hidden = config.hidden_size;
  switch (role) {
    case WeightRole::delta_qkv: return {net.qkv_size(), hidden};
    case WeightRole::delta_z: return {net.v_size(), hidden};
    case WeightRole::delta_b:
    case WeightRole::delta_a: return {net.n_heads, hidden};
    case WeightRole::delta_qkvz: return {net.qkv_size() + net.v_size(), hidden};
    case WeightRole::delta_ba: return {2 * net.n_heads, hidden};
    case WeightRole::delta_conv: return {net.qkv_size(), net.conv_kernel};
    case WeightRole::delta_a_log:
    case WeightRole::delta_dt_bias: return {net.n_heads};
    case WeightRole::delta_norm: return {net.value_dim};
    case WeightRole::delta_out: return {hidden, net.v_size()};
    default: return {};
  }
}

std::vector<std::int64_t> shape_of_short_conv(WeightRole role, const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  switch (role) {
    case WeightRole::short_conv_in: return {3 * hidden, hidden};
    case WeightRole::short_conv_in_bias: return {3 * hidden};
    case WeightRole::short_conv: return {hidden, config.short_conv.kernel};
    case WeightRole::short_conv_out: return {hidden, hidden};
    default: return {hidden};
  }
}

bool is_of_altup(WeightRole role) { return role >= WeightRole::altup_proj_1 && role <= WeightRole::laurel_norm; }

const LayerConfig& layer_at(const ModelConfig& config, std::int64_t layer) {
  static constexpr LayerConfig kOfModel;
  return layer >= 0 ? config.layers[static_cast<std::size_t>(layer)] : kOfModel;
}

/// Shapes of routed experts, the router, and the shared expert.
std::vector<std::int64_t> shape_of_experts(WeightRole role, const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size;
  switch (role) {
    case WeightRole::router: return {config.moe.n_experts, hidden};
    case WeightRole::router_bias:
    case WeightRole::score_correction_bias: return {config.moe.n_experts};
    case WeightRole::expert_gate:
    case WeightRole::expert_up: return {config.moe.expert_size, hidden};
    case WeightRole::expert_gate_up: return {2 * config.moe.expert_size, hidden};
    case WeightRole::expert_gate_bias:
    case WeightRole::expert_up_bias: return {config.moe.expert_size};
    case WeightRole::expert_gate_up_bias: return {2 * config.moe.expert_size};
    case WeightRole::expert_down: return {hidden, config.moe.expert_size};
    case WeightRole::shared_gate:
    case WeightRole::shared_up: return {config.moe.shared_size, hidden};
    case WeightRole::shared_down: return {hidden, config.moe.shared_size};
    case WeightRole::shared_expert_gate: return {1, hidden};
    default: return shape_of_per_layer(role, config);
  }
}

}  // namespace

bool is_of_layer(WeightRole role) {
  switch (role) {
    case WeightRole::embedding:
    case WeightRole::embedding_norm:
    case WeightRole::embedding_norm_bias:
    case WeightRole::positions:
    case WeightRole::token_types:
    case WeightRole::embedding_in:
    case WeightRole::embedding_out:
    case WeightRole::head:
    case WeightRole::head_bias:
    case WeightRole::final_norm:
    case WeightRole::final_norm_bias:
    case WeightRole::per_layer_embedding:
    case WeightRole::per_layer_model_proj:
    case WeightRole::per_layer_proj_norm:
    case WeightRole::altup_proj_1:
    case WeightRole::altup_proj_2:
    case WeightRole::altup_proj_3:
    case WeightRole::altup_unembed_1:
    case WeightRole::altup_unembed_2:
    case WeightRole::altup_unembed_3: return false;
    default: return true;
  }
}

bool is_of_expert(WeightRole role) {
  switch (role) {
    case WeightRole::expert_gate:
    case WeightRole::expert_up:
    case WeightRole::expert_gate_up:
    case WeightRole::expert_down:
    case WeightRole::expert_gate_bias:
    case WeightRole::expert_up_bias:
    case WeightRole::expert_gate_up_bias:
    case WeightRole::expert_down_bias: return true;
    default: return false;
  }
}

std::int64_t n_parts_of(WeightRole role, const ModelConfig& config) {
  switch (role) {
    case WeightRole::q_head_norm:
    case WeightRole::latent_head_k:
    case WeightRole::latent_head_v: return config.n_heads;
    case WeightRole::k_head_norm: return config.n_kv_heads;
    default: return is_of_expert(role) ? config.moe.n_experts : 0;
  }
}

std::span<const Spellings> spellings() { return kRoleSpellings; }

bool is_expert_matrix(WeightRole role) {
  const auto part = part_of(role);
  return part && is_of_experts(*part);
}

bool is_wanted(WeightRole role, const ModelConfig& config, std::int64_t layer, bool tied) {
  const LayerConfig& own = layer_at(config, layer);
  if (layer >= 0 && !has_mixer_of(role, own)) return false;
  const bool has_experts = own.has_experts, has_mlp = !has_experts || config.moe.adds_mlp;
  const bool has_both = has_experts && config.moe.adds_mlp;
  switch (role) {
    case WeightRole::head: return config.has_head && !tied;
    case WeightRole::head_bias: return config.has_head && config.head_bias;
    case WeightRole::embedding_norm: return config.has_embedding_norm && !config.embedding_norm_form().is_weightless;
    case WeightRole::embedding_norm_bias: return config.has_embedding_norm && config.norm.has_bias;
    case WeightRole::positions: return config.n_learned_positions > 0;
    case WeightRole::token_types: return config.n_token_types > 0;
    case WeightRole::embedding_in: return config.projects_embeddings();
    case WeightRole::embedding_out: return config.has_head && config.projects_embeddings();
    case WeightRole::final_norm: return config.has_final_norm && !config.final_norm_form().is_weightless;
    case WeightRole::final_norm_bias: return config.has_final_norm && config.norm.has_bias;
    case WeightRole::attention_norm: return !config.norm.is_weightless;
    case WeightRole::attention_norm_bias: return config.norm.has_bias;
    case WeightRole::mlp_norm: return config.residual != Residual::parallel && !config.norm.is_weightless;
    case WeightRole::mlp_norm_bias: return config.residual != Residual::parallel && config.norm.has_bias;
    case WeightRole::attention_out_norm:
    case WeightRole::mlp_out_norm: return config.norm_place == NormPlace::around;
    case WeightRole::q_norm: return config.qk_norm != QkNorm::none && !config.qk_norm_form.is_weightless;
    case WeightRole::k_norm: return config.qk_norm != QkNorm::none && !config.qk_norm_form.is_weightless && !own.shares_kv();
    case WeightRole::k: return !own.shares_kv();
    case WeightRole::v: return !own.shares_kv() && !own.k_is_v;
    case WeightRole::q_head_norm:
    case WeightRole::k_head_norm: return config.qk_norm == QkNorm::own_heads;
    case WeightRole::q_norm_bias:
    case WeightRole::k_norm_bias: return config.qk_norm != QkNorm::none && config.qk_norm_form.has_bias;
    case WeightRole::sinks: return config.has_sinks;
    case WeightRole::latent_q_a_proj:
    case WeightRole::latent_q_norm: return config.latent.q_rank > 0;
    case WeightRole::latent_q_a_proj_bias: return config.latent.q_rank > 0 && config.latent.has_bias;
    case WeightRole::latent_kv_a_proj_bias: return config.latent.has_bias;
    case WeightRole::q_bias:
    case WeightRole::qkv_bias: return config.qkv_bias;
    case WeightRole::k_bias: return config.qkv_bias && !own.shares_kv();
    case WeightRole::v_bias: return config.qkv_bias && !own.shares_kv() && !own.k_is_v;
    case WeightRole::o_bias: return config.attention_out_bias;
    case WeightRole::attention_gate: return config.n_attention_gates > 0;
    case WeightRole::short_conv_in_bias:
    case WeightRole::short_conv_bias:
    case WeightRole::short_conv_out_bias: return config.short_conv.has_bias;
    case WeightRole::gate: return has_mlp && config.is_gated;
    case WeightRole::up:
    case WeightRole::down:
    case WeightRole::gate_up: return has_mlp;
    case WeightRole::gate_bias: return has_mlp && config.is_gated && config.mlp_bias;
    case WeightRole::up_bias:
    case WeightRole::down_bias:
    case WeightRole::gate_up_bias: return has_mlp && config.mlp_bias;
    case WeightRole::router:
    case WeightRole::expert_gate:
    case WeightRole::expert_up:
    case WeightRole::expert_gate_up:
    case WeightRole::expert_down: return has_experts;
    case WeightRole::expert_gate_bias:
    case WeightRole::expert_up_bias:
    case WeightRole::expert_gate_up_bias:
    case WeightRole::expert_down_bias: return has_experts && config.moe.has_expert_bias;
    case WeightRole::router_bias: return has_experts && config.moe.has_router_bias;
    case WeightRole::score_correction_bias: return has_experts && config.moe.has_score_correction_bias;
    case WeightRole::shared_gate:
    case WeightRole::shared_up:
    case WeightRole::shared_down: return has_experts && config.moe.shared_size > 0;
    case WeightRole::shared_expert_gate: return has_experts && config.moe.has_shared_gate;
    case WeightRole::router_norm:
    case WeightRole::expert_scale:
    case WeightRole::dense_out_norm:
    case WeightRole::expert_norm:
    case WeightRole::expert_out_norm: return has_both;
    case WeightRole::per_layer_embedding:
    case WeightRole::per_layer_model_proj:
    case WeightRole::per_layer_proj_norm:
    case WeightRole::per_layer_gate:
    case WeightRole::per_layer_proj:
    case WeightRole::per_layer_norm: return config.per_layer.exists();
    case WeightRole::layer_scalar: return config.has_layer_scalar;
    default: return !is_of_altup(role) || config.altup.exists();
  }
}

std::vector<std::int64_t> shape_of(WeightRole role, const ModelConfig& config, std::int64_t layer) {
  const LayerConfig& own = layer_at(config, layer);
  const std::int64_t hidden = config.hidden_size, inner = config.inner_of(own), head_dim = config.head_dim_of(own);
  const std::int64_t q = config.q_size(own), kv = config.kv_size(own);
  const LatentConfig& latent = config.latent;
  switch (role) {
    case WeightRole::embedding:
    case WeightRole::head: return {config.vocab_size, config.embedding_size};
    case WeightRole::head_bias: return {config.vocab_size};
    case WeightRole::positions: return {config.n_learned_positions + config.position_offset, hidden};
    case WeightRole::token_types: return {config.n_token_types, hidden};
    case WeightRole::embedding_in: return {hidden, config.embedding_size};
    case WeightRole::embedding_out: return {config.embedding_size, hidden};
    case WeightRole::embedding_norm:
    case WeightRole::embedding_norm_bias:
    case WeightRole::final_norm:
    case WeightRole::final_norm_bias:
    case WeightRole::attention_norm:
    case WeightRole::attention_norm_bias:
    case WeightRole::attention_out_norm:
    case WeightRole::mlp_norm:
    case WeightRole::mlp_norm_bias:
    case WeightRole::mlp_out_norm:
    case WeightRole::o_bias:
    case WeightRole::expert_down_bias:
    case WeightRole::down_bias: return {hidden};
    case WeightRole::q: return {config.has_output_gate ? rows_of_queries(config) : q, hidden};
    case WeightRole::k:
    case WeightRole::v: return {kv, hidden};
    case WeightRole::qkv: return {q + 2 * kv, hidden};
    case WeightRole::o: return {hidden, config.latent.exists() ? config.o_size() : q};
    case WeightRole::attention_gate: return {config.n_attention_gates, hidden};
    case WeightRole::q_bias: return {config.has_output_gate ? rows_of_queries(config) : q};
    case WeightRole::k_bias:
    case WeightRole::v_bias: return {kv};
    case WeightRole::qkv_bias: return {q + 2 * kv};
    case WeightRole::q_norm:
    case WeightRole::q_norm_bias: return shape_of_head_norm(config, config.n_heads, head_dim);
    case WeightRole::k_norm:
    case WeightRole::k_norm_bias: return shape_of_head_norm(config, config.kv_heads_of(own), head_dim);
    case WeightRole::q_head_norm:
    case WeightRole::k_head_norm: return {config.head_dim};
    case WeightRole::sinks: return {config.n_heads};
    case WeightRole::latent_q_a_proj: return {latent.q_rank, hidden};
    case WeightRole::latent_q_a_proj_bias:
    case WeightRole::latent_q_norm: return {latent.q_rank};
    case WeightRole::latent_q: return {config.n_heads * latent.query_dim(), latent.q_rank > 0 ? latent.q_rank : hidden};
    case WeightRole::latent_kv_a_proj: return {latent.cached_dim(), hidden};
    case WeightRole::latent_kv_a_proj_bias: return {latent.cached_dim()};
    case WeightRole::latent_kv_norm: return {latent.kv_rank};
    case WeightRole::latent_kv: return {config.n_heads * (latent.qk_nope_head_dim + latent.v_dim), latent.kv_rank};
    case WeightRole::latent_head_k: return {latent.kv_rank, latent.qk_nope_head_dim};
    case WeightRole::latent_head_v: return {latent.v_dim, latent.kv_rank};
    case WeightRole::gate:
    case WeightRole::up: return {inner, hidden};
    case WeightRole::gate_up: return {2 * inner, hidden};
    case WeightRole::down: return {hidden, inner};
    case WeightRole::gate_bias:
    case WeightRole::up_bias: return {inner};
    case WeightRole::gate_up_bias: return {2 * inner};
    default: break;
  }
  if (is_of_delta_net(role)) return shape_of_delta_net(role, config);
  return is_of_short_conv(role) ? shape_of_short_conv(role, config) : shape_of_experts(role, config);
}

std::string_view pattern_of(WeightRole role, const Architecture& architecture) {
  const auto found = std::find_if(architecture.tensors.begin(), architecture.tensors.end(),
                                  [&](const TensorName& name) { return name.role == role; });
  return found != architecture.tensors.end() ? found->pattern : std::string_view();
}

std::string tensor_name(std::string_view pattern, std::int64_t layer, std::int64_t part) {
  std::string name(pattern);
  for (const std::int64_t number : {layer, part}) {
    if (const auto hole = name.find("{}"); hole != std::string::npos) name.replace(hole, 2, std::to_string(number));
  }
  return name;
}

std::string with_prefix(WeightRole role, std::string_view name, const NamePrefix& prefix) {
  const bool is_head = role == WeightRole::head || role == WeightRole::head_bias;
  return std::string(is_head ? prefix.head : prefix.body) + std::string(name);
}

bool is_layer_matrix(WeightRole role) { return part_of(role).has_value(); }

std::optional<MatrixPart> part_of(WeightRole role) {
  switch (role) {
    case WeightRole::q:
    case WeightRole::k:
    case WeightRole::v:
    case WeightRole::qkv:
    case WeightRole::attention_gate:
    case WeightRole::latent_q_a_proj:
    case WeightRole::latent_q:
    case WeightRole::latent_kv_a_proj:
    case WeightRole::latent_kv:
    case WeightRole::latent_head_k:
    case WeightRole::latent_head_v:
    case WeightRole::delta_qkv:
    case WeightRole::delta_z:
    case WeightRole::delta_qkvz:
    case WeightRole::short_conv_in: return MatrixPart::attention_in;
    case WeightRole::o:
    case WeightRole::delta_out:
    case WeightRole::short_conv_out: return MatrixPart::attention_out;
    case WeightRole::gate:
    case WeightRole::up:
    case WeightRole::gate_up: return MatrixPart::mlp_in;
    case WeightRole::down: return MatrixPart::mlp_out;
    case WeightRole::expert_gate:
    case WeightRole::expert_up:
    case WeightRole::expert_gate_up:
    case WeightRole::shared_gate:
    case WeightRole::shared_up: return MatrixPart::expert_in;
    case WeightRole::expert_down:
    case WeightRole::shared_down: return MatrixPart::expert_out;
    default: return std::nullopt;
  }
}

WeightRole fused_leader(WeightRole role) {
  switch (role) {
    case WeightRole::k:
    case WeightRole::v: return WeightRole::q;
    case WeightRole::delta_z: return WeightRole::delta_qkv;
    case WeightRole::up: return WeightRole::gate;
    case WeightRole::expert_up: return WeightRole::expert_gate;
    case WeightRole::shared_up: return WeightRole::shared_gate;
    default: return role;
  }
}

std::int64_t row_begin_of(WeightRole role, const ModelConfig& config, const LayerConfig& layer) {
  switch (role) {
    case WeightRole::k:
    case WeightRole::k_bias: return config.q_size(layer);
    case WeightRole::v:
    case WeightRole::v_bias: return config.q_size(layer) + config.kv_size(layer);
    default: return 0;
  }
}

}  // namespace lathe::engine
