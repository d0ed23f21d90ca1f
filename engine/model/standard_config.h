// SPDX-License-Identifier: Apache-2.0
// Readers of the usual keys of config.json and tables of the usual tensor names. An architecture uses those that its family
// shares and defines the others itself.
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

/// Joins several arrays into one.
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

/// Names of the norms after attention and after the MLP (NormPlace::behind).
inline constexpr std::array kNormsBehind = {
    TensorName{WeightRole::attention_norm, "layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm, "layers.{}.post_feedforward_layernorm.weight"},
};
inline constexpr auto kNormsBehindTensors = joined(kLlamaEnds, kNormsBehind, kLlamaAttention, kLlamaMlp);

inline constexpr auto kLlamaTensors = joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp);

/// Prefixes of families from the time of GPT-2.
inline constexpr std::array kTransformerPrefixes = {NamePrefix{"transformer."}, NamePrefix{}};

/// Frequencies that older versions of transformers saved; they follow from the config.
inline constexpr std::array<std::string_view, 1> kSavedAngles = {".rotary_emb.inv_freq"};

/// Keys of the sizes. An empty key is not read. If a file lacks the family's own key, the usual key is read.
struct SizeKeys {
  std::string_view hidden = "hidden_size", inner = "intermediate_size", layers = "num_hidden_layers",
                   heads = "num_attention_heads", kv_heads = "num_key_value_heads", positions = "max_position_embeddings";
};

/// Defaults of a family's class in transformers, used where the file gives no value.
struct Defaults {
  std::int64_t n_kv_heads = 0;  ///< 0: as many as heads
  std::int64_t head_dim = 0;    ///< 0: hidden_size / num_attention_heads
  std::int64_t n_positions = 2048;
  bool tied_embeddings = false;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000;
};

/// Reads vocabulary, widths, layers, heads, positions, and whether the head is tied.
void read_sizes(ConfigReader& reader, ModelConfig& config, const Defaults& defaults = {}, const SizeKeys& keys = {});

/// Reads the parts that most families since Llama share: sizes, RMS norms, RoPE on the whole head, SiLU.
void read_llama_parts(ConfigReader& reader, ModelConfig& config, const Defaults& defaults = {});
/// Reads biases of attention and of the MLP, each by its own key; false where the file gives none.
void read_llama_biases(ConfigReader& reader, ModelConfig& config);
/// Reads Granite's factors of the embeddings, of the outputs of attention and MLP, of the scores and of the logits.
void read_granite_factors(ConfigReader& reader, ModelConfig& config);
/// Applies the form of the layers' norms to Q and K as well. Requires: config.norm is set.
void norm_queries(ModelConfig& config, QkNorm place);

/// Takes RoPE from the layers that see the whole context. Requires: windows are set.
void drop_rope_of_full_layers(ModelConfig& config);

/// Sets an RMS norm without bias and reads its eps from "rms_norm_eps".
void read_rms_norm(ConfigReader& reader, ModelConfig& config, double eps);
/// Sets a layer norm and reads its eps from `key`.
void read_layer_norm(ConfigReader& reader, ModelConfig& config, std::string_view key, double eps, bool has_bias = true);

/// Reads an activation by its name in files; unsupported if the name is unknown.
kernels::Activation read_activation(ConfigReader& reader, std::string_view key, std::string_view fallback);

/// Reads RoPE on the whole head, the same for all layers.
void read_whole_rope(ConfigReader& reader, ModelConfig& config, double theta = 10000);
/// Default of RoPE on a part of the head, used where the file gives no value.
struct PartialRope {
  double factor = 1;
  double theta = 10000;
  kernels::RopeStyle style = kernels::RopeStyle::half;
  bool may_be_odd = false;  ///< the part may end within a pair, which is then rotated whole; else an odd part is a fault
  std::int64_t old_context = 0;  ///< original_max_position_embeddings; 0: max_position_embeddings
};
void read_partial_rope(ConfigReader& reader, ModelConfig& config, const PartialRope& usual);

/// Sets sliding windows of `window` tokens in the layers that `layer_types` of the file lists, else in those for which
/// is_sliding(i) is true. Requires: n_layers is set.
template <class IsSliding>
void read_windows(ConfigReader& reader, ModelConfig& config, std::int64_t window, const IsSliding& is_sliding);

/// Reads Qwen's windows: if enabled, from layer `max_window_layers` on.
void read_upper_windows(ConfigReader& reader, ModelConfig& config);

/// Keys of a mixture of experts. Newer versions of transformers write `n_experts` in addition to or in place of
/// `n_experts_too`.
struct ExpertKeys {
  std::string_view n_experts = "num_local_experts", n_experts_too = "num_experts", top_k = "num_experts_per_tok",
                   size = "moe_intermediate_size";
  std::int64_t usual_size = 0;  ///< default of the size; 0: the file must have it
};
/// Reads the count of experts, the experts of a row, and their size. Requires: n_layers is set.
void read_experts(ConfigReader& reader, ModelConfig& config, std::int64_t n_experts, std::int64_t top_k,
                  const ExpertKeys& keys = {});
/// Reads which of Qwen's layers have experts: every `decoder_sparse_step`th, except those of `mlp_only_layers`.
void read_sparse_layers(ConfigReader& reader, ModelConfig& config);

/// Names of experts as newer versions of transformers hold and may save them: all experts of a layer in one tensor, which
/// engine/load/expert_stacks.h cuts.
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

/// Names of Qwen's experts.
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

/// Reads the layer types that the file lists: true for a sliding window. Empty: the file lists none.
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
