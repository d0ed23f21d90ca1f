// SPDX-License-Identifier: Apache-2.0
// Architecture: one model family, described by its keys in config.json and the names of its tensors.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace lathe::engine {

class ConfigReader;
struct ModelConfig;

/// The purpose of a tensor. Shape and destination follow from the role; only the name depends on the family.
enum class WeightRole : std::uint8_t {
  embedding,
  embedding_norm,
  embedding_norm_bias,
  positions,      ///< learned
  token_types,    ///< learned, one row for each segment (sentence of a pair)
  embedding_in,   ///< projects a row of the embedding table to the hidden size
  embedding_out,  ///< projects the hidden state back to the embedding size, before the head
  head,
  head_bias,
  final_norm,
  final_norm_bias,
  attention_norm,  ///< before attention; after attention where NormPlace::behind
  attention_norm_bias,
  attention_out_norm,  ///< after attention, where NormPlace::around
  q,
  k,
  v,
  o,
  qkv,  ///< Q, K and V in one tensor
  q_bias,
  k_bias,
  v_bias,
  o_bias,
  attention_gate,  ///< the product whose sigmoid multiplies the output of attention, before o
  qkv_bias,
  q_norm,
  k_norm,
  q_head_norm,  ///< one head's norm, where each head has a tensor; files may store all heads in q_norm instead
  k_head_norm,
  q_norm_bias,
  k_norm_bias,
  sinks,
  latent_q_a_proj,  ///< from the hidden state to the latent of Q
  latent_q_a_proj_bias,
  latent_q_norm,
  latent_q,          ///< from the latent of Q, or from the hidden state, to Q
  latent_kv_a_proj,  ///< from the hidden state to the latent of K and V, then K's qk_rope_head_dim values
  latent_kv_a_proj_bias,
  latent_kv_norm,
  latent_kv,      ///< from the latent to K and V of all heads; files may store one tensor a head instead
  latent_head_k,  ///< from the latent to K of one head, transposed: [kv_lora_rank, qk_nope_head_dim]
  latent_head_v,  ///< from the latent to V of one head
  delta_qkv,      ///< of gated delta net: Q, K and V of all heads
  delta_z,        ///< the gate of the output
  delta_b,        ///< one value a head: the rate of learning
  delta_a,        ///< one value a head: the step of forgetting
  delta_qkvz,     ///< Q, K, V and the gate in one tensor, key head after key head
  delta_ba,       ///< both values in one tensor, key head after key head
  delta_conv,     ///< [channels, taps], which files may have as [channels, 1, taps]
  delta_a_log,    ///< the logarithm of the rate of forgetting
  delta_dt_bias,  ///< added to `delta_a`
  delta_norm,     ///< of each head's output, before the gate
  delta_out,
  short_conv_in,  ///< to b, c and x of a short convolution
  short_conv_in_bias,
  short_conv,  ///< as delta_conv
  short_conv_bias,
  short_conv_out,
  short_conv_out_bias,
  mlp_norm,  ///< as attention_norm
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
  score_correction_bias,  ///< added to the scores by which experts are chosen
  expert_gate,
  expert_up,
  expert_down,
  expert_gate_up,  ///< both in one tensor; a family that also lists them apart accepts either spelling
  expert_gate_bias,
  expert_up_bias,
  expert_down_bias,
  expert_gate_up_bias,
  shared_gate,
  shared_up,
  shared_down,
  shared_expert_gate,  ///< the product whose sigmoid multiplies the shared expert's output
  router_norm,     ///< weight of the norm before the router, of layers that have an MLP and experts (MoeConfig::adds_mlp)
  expert_scale,    ///< factor of each expert's weight, after normalising
  dense_out_norm,  ///< after the MLP, of layers that have an MLP and experts; the next two before and after the experts
  expert_norm,
  expert_out_norm,
  per_layer_embedding,   ///< one row a token with its embeddings for all layers
  per_layer_model_proj,  ///< from the embedded token to a second embedding for each layer
  per_layer_proj_norm,   ///< of the outputs of per_layer_model_proj, one weight for all layers
  per_layer_gate,        ///< from the residual stream to the width of an embedding for a layer
  per_layer_proj,        ///< from that width back
  per_layer_norm,
  layer_scalar,  ///< one number, by which a layer multiplies the residual stream
  altup_proj_1,  ///< from the embedded token to the second stream, and to the next ones
  altup_proj_2,
  altup_proj_3,
  altup_unembed_1,  ///< from the second stream to the sum of all, and from the next ones
  altup_unembed_2,
  altup_unembed_3,
  altup_router_norm,
  altup_router,   ///< from the active stream to a number for each stream
  altup_predict,  ///< from these numbers to the coefficients of the prediction: [streams squared, streams]
  altup_correct,  ///< from these numbers to the coefficients of the correction
  altup_scale,    ///< factors of the corrected active stream
  laurel_left,
  laurel_right,
  laurel_norm
};

/// The order in which files store the elements of a tensor.
enum class TensorLayout : std::uint8_t {
  plain,             ///< rows of Q, then K, then V; gate, then up; [outputs, inputs]
  transposed,        ///< [inputs, outputs]: GPT-2
  kv_groups,         ///< for each KV head the rows of its query heads, then of K, then of V: InternLM2, Falcon-40B, GPT-NeoX
  row_pairs,         ///< rows of gate and up alternate: gpt-oss stored as codes
  one_row,           ///< a vector as a matrix of one row: ERNIE 4.5
  transposed_pairs,  ///< [inputs, outputs], with columns in the order of row_pairs: gpt-oss
  rotary_pairs,      ///< rows of Q or K in which the two values that RoPE rotates together are adjacent: GGUF files of Llama
  plus_one,          ///< norms that already include the 1 that the family adds, in f32: GGUF files of Gemma
  minus_exp,         ///< -exp(x) in place of x, in f32: rates of recurrent layers in GGUF files
  /// Heads of V of gated delta net in the order that the model does not compute with (DeltaNetConfig::is_tiled).
  value_heads,         ///< one after the other
  value_heads_last,    ///< after the heads of Q and K
  value_head_columns,  ///< in the columns
  value_head_rates,    ///< minus_exp of value_heads
};

struct TensorName {
  WeightRole role;
  /// "layers.{}.mlp.up_proj.weight", without the prefix; {} is the layer, a second {} the expert or the head.
  std::string_view pattern;
  TensorLayout layout = TensorLayout::plain;
};

/// Prefixes that files put before the names of tensors.
struct NamePrefix {
  std::string_view body{};  ///< before all tensors but the head
  std::string_view head{};
};
/// Prefixes of a model with a head, of a base model that was saved alone, and (two spellings) of the language model inside a
/// multimodal one.
inline constexpr std::array kUsualPrefixes = {NamePrefix{"model."}, NamePrefix{},
                                              NamePrefix{"language_model.model.", "language_model."},
                                              NamePrefix{"model.language_model."}};

struct Architecture {
  std::string_view name;        ///< as in `architectures`: "LlamaForCausalLM"
  std::string_view model_type;  ///< "llama"
  std::span<const TensorName> tensors;
  /// Suffixes of tensors that files may have and the model does not need: left out without a warning.
  std::span<const std::string_view> ignored_suffixes;
  /// The usual prefix comes first.
  std::span<const NamePrefix> prefixes = kUsualPrefixes;
  /// Fills everything but the token ids. Faults and unsupported settings go to the reader.
  void (*read_config)(ConfigReader& reader, ModelConfig& config) = nullptr;
  /// Older values of `architectures` and `model_type`.
  std::span<const std::string_view> other_names{};
};

}  // namespace lathe::engine
