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
constexpr std::array kRoleSpellings = {Spellings{kFusedExperts, kSplitExperts}, Spellings{kNormsInOne, kNormsOfHeads},
                                       Spellings{kQkvInOne, kQkvApart}, Spellings{kLatentOfHeads, kLatentInOne}};

std::vector<std::int64_t> shape_of_head_norm(const ModelConfig& config, std::int64_t n_heads) {
  switch (config.qk_norm) {
    case QkNorm::none: return {};
    case QkNorm::head: return {config.head_dim};
    case QkNorm::own_heads: return {n_heads, config.head_dim};
    case QkNorm::all_heads: return {n_heads * config.head_dim};
  }
  return {};
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
    default: return {};
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
    case WeightRole::final_norm_bias: return false;
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
  const bool has_experts = layer >= 0 && config.layers[static_cast<std::size_t>(layer)].has_experts;
  switch (role) {
    case WeightRole::head: return config.has_head && !tied;
    case WeightRole::head_bias: return config.has_head && config.head_bias;
    case WeightRole::embedding_norm: return config.has_embedding_norm;
    case WeightRole::embedding_norm_bias: return config.has_embedding_norm && config.norm.has_bias;
    case WeightRole::positions: return config.n_learned_positions > 0;
    case WeightRole::token_types: return config.n_token_types > 0;
    case WeightRole::embedding_in: return config.projects_embeddings();
    case WeightRole::embedding_out: return config.has_head && config.projects_embeddings();
    case WeightRole::final_norm: return config.has_final_norm;
    case WeightRole::final_norm_bias: return config.has_final_norm && config.norm.has_bias;
    case WeightRole::attention_norm_bias: return config.norm.has_bias;
    case WeightRole::mlp_norm: return config.residual != Residual::parallel;
    case WeightRole::mlp_norm_bias: return config.residual != Residual::parallel && config.norm.has_bias;
    case WeightRole::attention_out_norm:
    case WeightRole::mlp_out_norm: return config.norm_place == NormPlace::around;
    case WeightRole::q_norm:
    case WeightRole::k_norm: return config.qk_norm != QkNorm::none;
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
    case WeightRole::k_bias:
    case WeightRole::v_bias:
    case WeightRole::qkv_bias: return config.qkv_bias;
    case WeightRole::o_bias: return config.attention_out_bias;
    case WeightRole::gate: return !has_experts && config.is_gated;
    case WeightRole::up:
    case WeightRole::down:
    case WeightRole::gate_up: return !has_experts;
    case WeightRole::gate_bias: return !has_experts && config.is_gated && config.mlp_bias;
    case WeightRole::up_bias:
    case WeightRole::down_bias:
    case WeightRole::gate_up_bias: return !has_experts && config.mlp_bias;
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
    default: return true;
  }
}

std::vector<std::int64_t> shape_of(WeightRole role, const ModelConfig& config) {
  const std::int64_t hidden = config.hidden_size, inner = config.intermediate_size;
  const std::int64_t qkv = config.q_size() + 2 * config.kv_size();
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
    case WeightRole::q: return {config.q_size(), hidden};
    case WeightRole::k:
    case WeightRole::v: return {config.kv_size(), hidden};
    case WeightRole::qkv: return {qkv, hidden};
    case WeightRole::o: return {hidden, config.o_size()};
    case WeightRole::q_bias: return {config.q_size()};
    case WeightRole::k_bias:
    case WeightRole::v_bias: return {config.kv_size()};
    case WeightRole::qkv_bias: return {qkv};
    case WeightRole::q_norm:
    case WeightRole::q_norm_bias: return shape_of_head_norm(config, config.n_heads);
    case WeightRole::k_norm:
    case WeightRole::k_norm_bias: return shape_of_head_norm(config, config.n_kv_heads);
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
    default: return shape_of_experts(role, config);
  }
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
    case WeightRole::latent_q_a_proj:
    case WeightRole::latent_q:
    case WeightRole::latent_kv_a_proj:
    case WeightRole::latent_kv:
    case WeightRole::latent_head_k:
    case WeightRole::latent_head_v: return MatrixPart::attention_in;
    case WeightRole::o: return MatrixPart::attention_out;
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
    case WeightRole::up: return WeightRole::gate;
    case WeightRole::expert_up: return WeightRole::expert_gate;
    case WeightRole::shared_up: return WeightRole::shared_gate;
    default: return role;
  }
}

std::int64_t row_begin_of(WeightRole role, const ModelConfig& config) {
  switch (role) {
    case WeightRole::k:
    case WeightRole::k_bias: return config.q_size();
    case WeightRole::v:
    case WeightRole::v_bias: return config.q_size() + config.kv_size();
    default: return 0;
  }
}

}  // namespace lathe::engine
