// SPDX-License-Identifier: Apache-2.0
// Architecture: what sets one model family apart: its keys in config.json and the names of its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lathe::engine {

class ConfigReader;
struct ModelConfig;

/// What a tensor is for. Shape and destination follow from the role; only its name is the family's.
enum class WeightRole : std::uint8_t {
  embedding,
  embedding_norm,
  embedding_norm_bias,
  positions,      ///< learned
  token_types,    ///< learned, one row for each sentence of a pair
  embedding_in,   ///< projects a row of the embeddings to the hidden size
  embedding_out,  ///< and back before the head
  head,
  head_bias,
  final_norm,
  final_norm_bias,
  attention_norm,  ///< before attention; where norms stand behind the parts, behind it
  attention_norm_bias,
  attention_out_norm,  ///< behind attention, where norms stand around the parts
  q,
  k,
  v,
  o,
  qkv,  ///< Q, K and V in one tensor
  q_bias,
  k_bias,
  v_bias,
  o_bias,
  qkv_bias,
  q_norm,
  k_norm,
  q_head_norm,  ///< of one head, where each has a tensor; in their place all may lie in one as q_norm
  k_head_norm,
  q_norm_bias,
  k_norm_bias,
  sinks,
  latent_q_a_proj,  ///< to the short vector of Q
  latent_q_a_proj_bias,
  latent_q_norm,
  latent_q,          ///< Q, from there or from the hidden state
  latent_kv_a_proj,  ///< to the short vector of K and V, then the numbers of K that turn
  latent_kv_a_proj_bias,
  latent_kv_norm,
  latent_kv,      ///< K and V of each head
  latent_head_k,  ///< K of one head by its numbers, not by its rows; those of all heads may lie in latent_kv instead
  latent_head_v,  ///< V of one head, the same
  mlp_norm,       ///< as attention_norm
  mlp_norm_bias,
  mlp_out_norm,
  gate,
  up,
  down,
  gate_up,  ///< gate and up in one tensor
  gate_bias,
  up_bias,
  down_bias,
  gate_up_bias,
  router,
  router_bias,
  score_correction_bias,  ///< of the scores that experts are chosen by
  expert_gate,
  expert_up,
  expert_down,
  expert_gate_up,  ///< both in one tensor; of a family that lists them apart as well, one spelling or the other
  expert_gate_bias,
  expert_up_bias,
  expert_down_bias,
  expert_gate_up_bias,
  shared_gate,
  shared_up,
  shared_down,
  shared_expert_gate  ///< the product whose sigmoid the shared expert is multiplied with
};

/// How the numbers of a tensor lie in files.
enum class TensorLayout : std::uint8_t {
  plain,             ///< rows of Q, then K, then V; gate, then up; [outputs, inputs]
  transposed,        ///< [inputs, outputs]: GPT-2
  kv_groups,         ///< for each KV head the rows of its query heads, then of K, then of V: InternLM2, Falcon-40B, GPT-NeoX
  row_pairs,         ///< a row of gate, then one of up, and so on: gpt-oss in codes
  transposed_pairs,  ///< [inputs, outputs], columns as those rows: gpt-oss
  rotary_pairs,      ///< rows of Q or of K in which the numbers that turn together lie side by side: GGUF files of Llama
  plus_one,          ///< norms that hold the 1 that the family adds to them, in f32: GGUF files of Gemma
};

struct TensorName {
  WeightRole role;
  std::string_view
      pattern;  ///< "layers.{}.mlp.up_proj.weight", behind a prefix; {} is the layer, a second {} the expert or the head
  TensorLayout layout = TensorLayout::plain;
};

/// What files put before the names of tensors.
struct NamePrefix {
  std::string_view body{};  ///< of all but the head
  std::string_view head{};
};
/// With a head, as a base model that was saved alone, and inside of one that also sees, in two spellings.
inline constexpr std::array kUsualPrefixes = {NamePrefix{"model."}, NamePrefix{},
                                              NamePrefix{"language_model.model.", "language_model."},
                                              NamePrefix{"model.language_model."}};

struct Architecture {
  std::string_view name;        ///< as in `architectures`: "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  std::span<const TensorName> tensors;
  /// Ends of names that may lie in files and mean nothing: left out without a warning.
  std::span<const std::string_view> ignored_suffixes;
  /// First the usual one.
  std::span<const NamePrefix> prefixes = kUsualPrefixes;
  /// Fills everything but the token ids. Faults and unmet wishes go to the reader.
  void (*read_config)(ConfigReader& reader, ModelConfig& config) = nullptr;
  /// Older values of `architectures` and `model_type`.
  std::span<const std::string_view> other_names{};
};

}  // namespace lathe::engine
