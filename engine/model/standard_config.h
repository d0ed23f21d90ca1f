// SPDX-License-Identifier: Apache-2.0
// What many families have in common: the usual keys of config.json and the usual names of tensors. An architecture takes
// from here what it shares, and says the rest itself.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/model/architecture.h"
#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"
#include "engine/model/model_config.h"

namespace lathe::engine {

/// One array of several.
template <class T, std::size_t... kSizes>
constexpr auto joined(const std::array<T, kSizes>&... parts) {
  std::array<T, (kSizes + ...)> all{};
  std::size_t n = 0;
  const auto append = [&](const auto& part) {
    for (const T& item : part) all[n++] = item;
  };
  (append(parts), ...);
  return all;
}

inline constexpr std::array kLlamaEnds = {
    TensorName{WeightRole::embedding, "embed_tokens.weight"},
    TensorName{WeightRole::final_norm, "norm.weight"},
    TensorName{WeightRole::final_norm_bias, "norm.bias"},
    TensorName{WeightRole::head, "lm_head.weight"},
};

inline constexpr std::array kLlamaNorms = {
    TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_norm_bias, "layers.{}.input_layernorm.bias"},
    TensorName{WeightRole::mlp_norm, "layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm_bias, "layers.{}.post_attention_layernorm.bias"},
};

inline constexpr std::array kLlamaAttention = {
    TensorName{WeightRole::q, "layers.{}.self_attn.q_proj.weight"},
    TensorName{WeightRole::k, "layers.{}.self_attn.k_proj.weight"},
    TensorName{WeightRole::v, "layers.{}.self_attn.v_proj.weight"},
    TensorName{WeightRole::o, "layers.{}.self_attn.o_proj.weight"},
    TensorName{WeightRole::q_bias, "layers.{}.self_attn.q_proj.bias"},
    TensorName{WeightRole::k_bias, "layers.{}.self_attn.k_proj.bias"},
    TensorName{WeightRole::v_bias, "layers.{}.self_attn.v_proj.bias"},
    TensorName{WeightRole::o_bias, "layers.{}.self_attn.o_proj.bias"},
    TensorName{WeightRole::q_norm, "layers.{}.self_attn.q_norm.weight"},
    TensorName{WeightRole::k_norm, "layers.{}.self_attn.k_norm.weight"},
};

inline constexpr std::array kLlamaMlp = {
    TensorName{WeightRole::gate, "layers.{}.mlp.gate_proj.weight"},
    TensorName{WeightRole::up, "layers.{}.mlp.up_proj.weight"},
    TensorName{WeightRole::down, "layers.{}.mlp.down_proj.weight"},
    TensorName{WeightRole::gate_bias, "layers.{}.mlp.gate_proj.bias"},
    TensorName{WeightRole::up_bias, "layers.{}.mlp.up_proj.bias"},
    TensorName{WeightRole::down_bias, "layers.{}.mlp.down_proj.bias"},
};

/// Where norms stand behind the parts.
inline constexpr std::array kNormsBehind = {
    TensorName{WeightRole::attention_norm, "layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm, "layers.{}.post_feedforward_layernorm.weight"},
};
inline constexpr auto kNormsBehindTensors = joined(kLlamaEnds, kNormsBehind, kLlamaAttention, kLlamaMlp);

inline constexpr auto kLlamaTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp);

/// Of families that are as old as GPT-2.
inline constexpr std::array kTransformerPrefixes = {NamePrefix{"transformer."}, NamePrefix{}};

/// Angles that older versions of transformers saved; they follow from the config.
inline constexpr std::array<std::string_view, 1> kSavedAngles = {".rotary_emb.inv_freq"};

/// Keys of the sizes. An empty one is not read. Where a file lacks a family's own but has the usual one, that is read.
struct SizeKeys {
  std::string_view hidden = "hidden_size", inner = "intermediate_size", layers = "num_hidden_layers",
                   heads = "num_attention_heads", kv_heads = "num_key_value_heads", positions = "max_position_embeddings";
};

/// What a family's class says where the file says nothing.
struct Defaults {
  std::int64_t n_kv_heads = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 0;    ///< 0: hidden_size / num_attention_heads
  std::int64_t n_positions = 2048;
  bool tied_embeddings = false;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
};

/// Vocabulary, widths, layers, heads, positions, and whether the head is tied.
void read_sizes(ConfigReader& reader, ModelConfig& config, const Defaults& defaults = {}, const SizeKeys& keys = {});

/// What most families since Llama share: sizes, RMS norms, RoPE on the whole head, SiLU.
void read_llama_parts(ConfigReader& reader, ModelConfig& config, const Defaults& defaults = {});
/// Biases of attention and of the MLP, each under a key of its own; none where the file says nothing.
void read_llama_biases(ConfigReader& reader, ModelConfig& config);
/// The norms of layers on Q and K as well. Requires: the norm is known.
void norm_queries(ModelConfig& config, QkNorm place);

/// An RMS norm without bias, its eps under "rms_norm_eps".
void read_rms_norm(ConfigReader& reader, ModelConfig& config, double eps);
/// A layer norm, its eps under `key`.
void read_layer_norm(ConfigReader& reader, ModelConfig& config, std::string_view key, double eps, bool has_bias = true);

/// By its name in files; unmet when it is none of ours.
kernels::Activation read_activation(ConfigReader& reader, std::string_view key, std::string_view fallback);

/// RoPE on the whole head, the same in all layers.
void read_whole_rope(ConfigReader& reader, ModelConfig& config, double theta = 10000);
/// RoPE on a part of the head, where the file says nothing else.
struct PartialRope {
  double factor = 1;
  kernels::RopeStyle style = kernels::RopeStyle::half;
  bool may_be_odd = false;       ///< the part may end amid a pair, which then turns whole; else such a part is a fault
  std::int64_t old_context = 0;  ///< original_max_position_embeddings; 0: max_position_embeddings
};
void read_partial_rope(ConfigReader& reader, ModelConfig& config, const PartialRope& usual);

/// Sliding windows of `window` tokens by `layer_types` where the file has them, else in the layers that is_sliding(i) names.
/// Requires: n_layers is known.
template <class IsSliding>
void read_windows(ConfigReader& reader, ModelConfig& config, std::int64_t window, const IsSliding& is_sliding);

/// Qwen's windows: if they are used at all, from layer `max_window_layers` on.
void read_upper_windows(ConfigReader& reader, ModelConfig& config);

/// Keys of a mixture of experts. Newer versions of transformers write the first of n_experts beside or in place of the
/// second.
struct ExpertKeys {
  std::string_view n_experts = "num_local_experts", n_experts_too = "num_experts", top_k = "num_experts_per_tok",
                   size = "moe_intermediate_size";
};
/// Their number, how many a row has, and their size. Requires: n_layers is known.
void read_experts(ConfigReader& reader, ModelConfig& config, std::int64_t n_experts, std::int64_t top_k,
                  const ExpertKeys& keys = {});
/// Qwen's layers with experts: every `decoder_sparse_step`th, but for those of `mlp_only_layers`.
void read_sparse_layers(ConfigReader& reader, ModelConfig& config);

/// Experts as newer versions of transformers have them in memory and may save them: all of a layer in one tensor, cut by
/// engine/load/expert_stacks.h.
inline constexpr std::array kFusedExperts = {
    TensorName{WeightRole::expert_gate_up, "layers.{}.mlp.experts.{}.gate_up_proj"},
    TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj"},
};

/// Names of Mixtral's experts.
inline constexpr std::array kMixtralExperts = {
    TensorName{WeightRole::router, "layers.{}.block_sparse_moe.gate.weight"},
    TensorName{WeightRole::expert_gate, "layers.{}.block_sparse_moe.experts.{}.w1.weight"},
    TensorName{WeightRole::expert_up, "layers.{}.block_sparse_moe.experts.{}.w3.weight"},
    TensorName{WeightRole::expert_down, "layers.{}.block_sparse_moe.experts.{}.w2.weight"},
};

/// Names of Qwen's experts, and of the MLPs of layers without.
inline constexpr std::array kQwenExperts = {
    TensorName{WeightRole::router, "layers.{}.mlp.gate.weight"},
    TensorName{WeightRole::expert_gate, "layers.{}.mlp.experts.{}.gate_proj.weight"},
    TensorName{WeightRole::expert_up, "layers.{}.mlp.experts.{}.up_proj.weight"},
    TensorName{WeightRole::expert_down, "layers.{}.mlp.experts.{}.down_proj.weight"},
    TensorName{WeightRole::shared_gate, "layers.{}.mlp.shared_expert.gate_proj.weight"},
    TensorName{WeightRole::shared_up, "layers.{}.mlp.shared_expert.up_proj.weight"},
    TensorName{WeightRole::shared_down, "layers.{}.mlp.shared_expert.down_proj.weight"},
    TensorName{WeightRole::shared_expert_gate, "layers.{}.mlp.shared_expert_gate.weight"},
};

/// The types of layers that the file lists: true where one slides. Empty: it lists none.
std::vector<bool> read_layer_types(ConfigReader& reader, const ModelConfig& config);

template <class IsSliding>
void read_windows(ConfigReader& reader, ModelConfig& config, std::int64_t window, const IsSliding& is_sliding) {
  const std::vector<bool> listed = read_layer_types(reader, config);
  config.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const bool slides = listed.empty() ? is_sliding(static_cast<std::int64_t>(i)) : listed[i];
    config.layers[i].window = slides ? window : 0;
  }
}

}  // namespace lathe::engine
