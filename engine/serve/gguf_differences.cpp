// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/gguf_differences.h"

#include <algorithm>
#include <cmath>

namespace lathe::engine {
namespace {

// Floating metadata values are f32, with 24 bits.
constexpr double kRounding = 1e-6;

bool is_close(double a, double b) { return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)); }

/// The window of a layer; a window over the whole context counts as none.
std::int64_t window_of(const ModelConfig& config, std::size_t layer) {
  const std::int64_t window = config.layers[layer].window;
  return window < config.max_position_embeddings ? window : 0;
}

bool same_norm(const NormConfig& a, const NormConfig& b) {
  return a.kind == b.kind && is_close(a.eps, b.eps) && a.has_bias == b.has_bias && a.plus_one == b.plus_one &&
         a.is_weightless == b.is_weightless;
}

bool same_query_norms(const ModelConfig& a, const ModelConfig& b) {
  if (a.qk_norm != b.qk_norm || a.norms_after_rope != b.norms_after_rope) return false;
  return a.qk_norm == QkNorm::none ||
         (same_norm(a.qk_norm_form, b.qk_norm_form) &&
          std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                     [](const LayerConfig& x, const LayerConfig& y) { return x.norms_queries == y.norms_queries; }));
}

bool same_experts(const MoeConfig& a, const MoeConfig& b) {
  const bool same_sizes = a.n_experts == b.n_experts && a.top_k == b.top_k && a.expert_size == b.expert_size &&
                          a.shared_size == b.shared_size && a.has_shared_gate == b.has_shared_gate;
  const bool same_groups = a.n_groups == b.n_groups && a.topk_groups == b.topk_groups && a.group_score == b.group_score;
  const bool same_biases = a.has_router_bias == b.has_router_bias &&
                           a.has_score_correction_bias == b.has_score_correction_bias &&
                           a.has_expert_bias == b.has_expert_bias;
  return same_sizes && same_groups && same_biases && a.score == b.score && a.normalises == b.normalises &&
         a.adds_mlp == b.adds_mlp && is_close(a.scale, b.scale) && is_close(a.jitter, b.jitter) &&
         a.weighs_input == b.weighs_input;
}

bool same_sizes(const ModelConfig& a, const ModelConfig& b, std::size_t i) {
  const LayerConfig &of_a = a.layers[i], &of_b = b.layers[i];
  return a.kv_heads_of(of_a) == b.kv_heads_of(of_b) && a.head_dim_of(of_a) == b.head_dim_of(of_b) &&
         a.inner_of(of_a) == b.inner_of(of_b) && of_a.kv_source == of_b.kv_source && of_a.k_is_v == of_b.k_is_v &&
         is_close(of_a.activation_sparsity, of_b.activation_sparsity);
}

bool same_mixers(const ModelConfig& a, const ModelConfig& b) {
  return std::equal(a.layers.begin(), a.layers.end(), b.layers.begin(), b.layers.end(),
                    [](const LayerConfig& x, const LayerConfig& y) { return x.mixer == y.mixer; });
}

bool same_rope(const ModelConfig& a, const ModelConfig& b, std::size_t layer) {
  const int at_a = a.layers[layer].rope, at_b = b.layers[layer].rope;
  if (at_a < 0 || at_b < 0) return (at_a < 0) == (at_b < 0);
  const RopeConfig &rope_a = a.ropes[static_cast<std::size_t>(at_a)], &rope_b = b.ropes[static_cast<std::size_t>(at_b)];
  if (rope_a.rotary_dim != rope_b.rotary_dim || rope_a.style != rope_b.style) return false;
  for (const std::int64_t n : {std::int64_t{1}, a.max_position_embeddings}) {
    const RopeWaves waves_a = rope_waves(rope_a, n), waves_b = rope_waves(rope_b, n);
    if (!std::equal(waves_a.frequencies.begin(), waves_a.frequencies.end(), waves_b.frequencies.begin(),
                    waves_b.frequencies.end(), is_close) ||
        !is_close(waves_a.attention_factor, waves_b.attention_factor)) {
      return false;
    }
  }
  for (const std::int64_t position : {std::int64_t{0}, a.max_position_embeddings / 2, a.max_position_embeddings - 1}) {
    if (!is_close(query_factor(rope_a, position), query_factor(rope_b, position))) return false;
  }
  return rope_a.grown_dim == rope_b.grown_dim;
}

}  // namespace

std::vector<std::string> differences(const ModelConfig& written, const ModelConfig& meant) {
  std::vector<std::string> names;
  const auto expect = [&names](bool is_same, std::string_view name) {
    if (!is_same) names.emplace_back(name);
  };
  const ModelConfig &a = written, &b = meant;
  expect(a.vocab_size == b.vocab_size && a.hidden_size == b.hidden_size && a.n_layers == b.n_layers &&
             a.n_heads == b.n_heads && a.n_kv_heads == b.n_kv_heads && a.head_dim == b.head_dim &&
             a.intermediate_size == b.intermediate_size,
         "sizes");
  expect(same_norm(a.norm, b.norm) && same_norm(a.out_norm_form(), b.out_norm_form()) &&
             same_norm(a.final_norm_form(), b.final_norm_form()) && a.norm_place == b.norm_place,
         "norms");
  expect(a.has_embedding_norm == b.has_embedding_norm && same_norm(a.embedding_norm_form(), b.embedding_norm_form()) &&
             a.embedding_size == b.embedding_size,
         "embeddings");
  expect(a.n_learned_positions == b.n_learned_positions && a.position_offset == b.position_offset, "learned positions");
  expect(a.n_token_types == b.n_token_types, "type_vocab_size");
  expect(a.is_causal == b.is_causal && a.has_head == b.has_head, "attention direction and output head");
  expect(std::equal(a.alibi_slopes.begin(), a.alibi_slopes.end(), b.alibi_slopes.begin(), b.alibi_slopes.end(), is_close) &&
             is_close(a.rounded_alibi_scale, b.rounded_alibi_scale),
         "ALiBi");
  expect(a.normalises_head == b.normalises_head, "rows of the output head");
  expect(a.residual == b.residual, "use_parallel_residual");
  expect(same_query_norms(a, b), "norms of Q and K");
  expect(a.n_attention_gates == b.n_attention_gates && a.has_output_gate == b.has_output_gate, "gates of attention");
  expect(a.delta_net == b.delta_net && a.short_conv == b.short_conv && same_mixers(a, b), "recurrent layers");
  expect(is_close(a.attention_scale, b.attention_scale), "scale of attention");
  expect(is_close(a.attention_soft_cap, b.attention_soft_cap) && is_close(a.logit_soft_cap, b.logit_soft_cap), "soft caps");
  expect(is_close(a.clip_qkv, b.clip_qkv), "clip_qkv");
  expect(a.activation == b.activation && a.is_gated == b.is_gated, "hidden_act");
  expect(is_close(a.embedding_multiplier, b.embedding_multiplier) &&
             is_close(a.residual_multiplier, b.residual_multiplier) && is_close(a.logit_multiplier, b.logit_multiplier),
         "multipliers");
  expect(a.tied_embeddings == b.tied_embeddings, "tie_word_embeddings");
  expect(a.qkv_bias == b.qkv_bias && a.attention_out_bias == b.attention_out_bias && a.mlp_bias == b.mlp_bias &&
             a.head_bias == b.head_bias,
         "biases");
  expect(same_experts(a.moe, b.moe), "experts");
  expect(a.latent == b.latent, "latent attention");
  expect(a.altup == b.altup, "residual streams");
  expect(a.per_layer == b.per_layer && a.has_layer_scalar == b.has_layer_scalar && a.has_v_norm == b.has_v_norm,
         "per-layer embeddings, factors of layers and the norm of V");
  bool same_windows = a.layers.size() == b.layers.size(), same_ropes = same_windows, same_kinds = same_windows,
       same_scores = same_windows, same_shapes = same_windows;
  for (std::size_t i = 0; i < std::min(a.layers.size(), b.layers.size()); ++i) {
    same_windows = same_windows && window_of(a, i) == window_of(b, i);
    same_shapes = same_shapes && same_sizes(a, b, i);
    same_ropes = same_ropes && same_rope(a, b, i);
    same_kinds = same_kinds && a.layers[i].has_experts == b.layers[i].has_experts;
    same_scores = same_scores && is_close(a.layers[i].score_factor, b.layers[i].score_factor);
  }
  expect(same_windows && a.has_chunks == b.has_chunks, "sliding windows");
  expect(same_shapes, "sizes of layers");
  expect(same_ropes, "RoPE");
  expect(same_kinds, "layers with experts");
  expect(same_scores, "scales of layers");
  return names;
}

}  // namespace lathe::engine
