// SPDX-License-Identifier: Apache-2.0
// ModelConfig: the fields of config.json from which a decoder is built, checked and completed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/model/altup_config.h"
#include "engine/model/delta_net_config.h"
#include "engine/model/latent_config.h"
#include "engine/model/moe_config.h"
#include "engine/model/per_layer_config.h"
#include "engine/model/rope_config.h"
#include "engine/model/short_conv_config.h"

namespace lathe::engine {

struct Architecture;

struct NormConfig {
  kernels::NormKind kind = kernels::NormKind::rms;
  double eps = 0;
  bool has_bias = false;
  bool plus_one = false;       ///< files store the weight minus 1: Gemma
  bool is_weightless = false;  ///< files store no weight: it is 1
};

/// Position of a layer's norms; x is the residual stream, part is attention or the MLP.
enum class NormPlace : std::uint8_t {
  before,    ///< x += part(norm(x))
  around,    ///< x += norm(part(norm(x))): Gemma 2
  behind,    ///< x += norm(part(x)): OLMo 2
  on_stream  ///< x = norm(x + part(x)): OPT-350m
};

/// Input of a layer's MLP.
enum class Residual : std::uint8_t {
  sequential,         ///< the norm of the stream after attention
  parallel,           ///< the output of the norm before attention: GPT-J, Falcon-7B
  parallel_two_norms  ///< a second norm of the stream before attention: GPT-NeoX, Falcon-40B
};

/// The values over which Q and K are normalised before RoPE.
enum class QkNorm : std::uint8_t {
  none,
  head,       ///< each head, all with one weight [head_dim]: Qwen3
  own_heads,  ///< each head with a weight of its own: StableLM-12B, Cohere
  all_heads   ///< all heads together: OLMo 2
};

/// The part of a layer in which tokens read of earlier ones.
enum class LayerMixer : std::uint8_t {
  attention,        ///< keeps K and V of each token
  gated_delta_net,  ///< keeps a state of fixed size of each sequence
  short_conv        ///< keeps the last rows before a convolution
};

struct LayerConfig {
  LayerMixer mixer = LayerMixer::attention;
  std::int64_t window = 0;    ///< tokens that a row sees, itself included; 0: all before it
  int rope = 0;               ///< index in ModelConfig::ropes; -1: none
  bool has_experts = false;   ///< in place of the MLP
  bool norms_queries = true;  ///< as ModelConfig::qk_norm says; else Q and K of the layer are not normalised
  double score_factor = 1;    ///< multiplies ModelConfig::attention_scale
  /// Sizes of this layer; 0: those of the model.
  std::int64_t n_kv_heads = 0, head_dim = 0, intermediate_size = 0;
  std::int64_t kv_source = -1;     ///< earlier layer of the same window whose K and V this layer reads; -1: it has its own
  double activation_sparsity = 0;  ///< share of the MLP's gates that a cutoff sets to 0, were they normally distributed
  bool k_is_v = false;             ///< V is the product that gives K, before K's norm and RoPE

  bool shares_kv() const { return kv_source >= 0; }
  bool operator==(const LayerConfig&) const = default;
  /// True if the layer keeps a state of a sequence, and no K and V.
  bool is_recurrent() const { return mixer != LayerMixer::attention; }
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  std::string whole;  ///< class of the larger model of which this is the text; empty: there is none
  std::int64_t vocab_size = 0, hidden_size = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0,
               intermediate_size = 0, max_position_embeddings = 0;
  NormConfig norm;
  /// Forms of the norms after the halves of a layer, before the head, and of the embeddings, where they differ from `norm`.
  std::optional<NormConfig> out_norm, final_norm, embedding_norm;
  NormPlace norm_place = NormPlace::before;
  Residual residual = Residual::sequential;
  bool has_final_norm = true;

  bool is_causal = true;        ///< a row sees the tokens before it; else the whole text, which must then be one step: BERT
  bool has_head = true;         ///< the model computes logits; else only hidden states
  bool has_classifier = false;  ///< the files have a classifier for the pooled state
  /// Tokens whose rows of the output head are the classifier, as vLLM's classifier_from_token; empty: it is a part of its
  /// own.
  std::vector<std::string> classifier_tokens;
  /// The only logit is that of the second token minus that of the first: is_original_qwen3_reranker.
  bool classifies_by_difference = false;
  bool classifies_by_embeddings = false;  ///< these rows are those of the embeddings, which are the head

  std::vector<RopeConfig> ropes;                              ///< empty: positions are learned, by ALiBi, or none
  std::vector<LayerConfig> layers;                            ///< n_layers of them
  std::int64_t n_learned_positions = 0, position_offset = 0;  ///< row of position p: p + offset; 0 rows: none are learned
  std::int64_t n_token_types = 0;                             ///< learned rows for the two segments of a pair: BERT
  std::vector<float> alibi_slopes;                            ///< [n_heads]; empty: no ALiBi
  /// Scale of the products of slopes and positions, which are then rounded to bf16 (Falcon); 0: no rounding.
  double rounded_alibi_scale = 0;

  QkNorm qk_norm = QkNorm::none;
  NormConfig qk_norm_form;
  bool norms_after_rope = false;  ///< Q and K are rotated before they are normalised: Hunyuan
  bool has_v_norm = false;        ///< each head of V has a norm without weight, of the form of K's
  double attention_scale = 0;     ///< factor of q k^T
  double attention_soft_cap = 0, logit_soft_cap = 0, clip_qkv = 0;  ///< 0: none
  bool has_sinks = false;
  /// Gates of a row, whose sigmoids multiply the output of attention before its projection: one a number or one a head; 0:
  /// there are none, or has_output_gate.
  std::int64_t n_attention_gates = 0;
  /// Windows do not slide: a row sees the tokens of its chunk, from the last multiple of the window's length on. Llama 4
  bool has_chunks = false;
  bool has_output_gate = false;  ///< q_proj has rows of a gate behind each head's; its sigmoid multiplies attention's output

  DeltaNetConfig delta_net;    ///< of the layers with LayerMixer::gated_delta_net
  ShortConvConfig short_conv;  ///< of the layers with LayerMixer::short_conv

  LatentConfig latent;  ///< in place of separate Q, K and V; n_kv_heads is then 1, and head_dim the width of a cached token

  kernels::Activation activation = kernels::Activation::silu;
  bool is_gated = true;  ///< the MLP

  MoeConfig moe;  ///< shared by all layers that have experts

  bool rounds_embedding_multiplier = false;  ///< to the type of the table: Gemma
  PerLayerConfig per_layer;                  ///< embeddings of the token for each layer: Gemma 4 E2B
  AltUpConfig altup;                         ///< several residual streams: Gemma 3n
  bool has_layer_scalar = false;  ///< a layer multiplies the residual stream that it leaves by a number of its own

  double embedding_multiplier = 1, residual_multiplier = 1, logit_multiplier = 1;
  bool has_embedding_norm = false;
  std::int64_t embedding_size = 0;  ///< width of the table; if not hidden_size, rows are projected to hidden_size and back

  bool tied_embeddings = false;
  bool normalises_head = false;  ///< the head's rows have length 1: Baichuan 2
  bool qkv_bias = false, attention_out_bias = false, mlp_bias = false, head_bias = false;
  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;

  const NormConfig& out_norm_form() const { return out_norm ? *out_norm : norm; }
  const NormConfig& final_norm_form() const { return final_norm ? *final_norm : norm; }
  const NormConfig& embedding_norm_form() const { return embedding_norm ? *embedding_norm : norm; }
  std::int64_t head_dim_of(const LayerConfig& layer) const { return layer.head_dim > 0 ? layer.head_dim : head_dim; }
  std::int64_t kv_heads_of(const LayerConfig& layer) const { return layer.n_kv_heads > 0 ? layer.n_kv_heads : n_kv_heads; }
  std::int64_t inner_of(const LayerConfig& layer) const {
    return layer.intermediate_size > 0 ? layer.intermediate_size : intermediate_size;
  }
  /// Widths of Q, and of K as of V, in a layer; without one, those of the model's own sizes.
  std::int64_t q_size(const LayerConfig& layer = {}) const { return n_heads * head_dim_of(layer); }
  std::int64_t kv_size(const LayerConfig& layer = {}) const { return kv_heads_of(layer) * head_dim_of(layer); }
  /// Width of what a layer projects for attention: Q, and K and V unless another layer has them.
  std::int64_t qkv_size(const LayerConfig& layer = {}) const {
    return q_size(layer) + (layer.shares_kv() ? 0 : 2 * kv_size(layer));
  }
  /// The largest of `value(layer)`, and of the model's own sizes.
  template <class Value>
  std::int64_t largest(const Value& value) const {
    std::int64_t most = value(LayerConfig());
    for (const LayerConfig& layer : layers) most = std::max(most, value(layer));
    return most;
  }
  bool has_sizes_by_layer() const;       ///< heads or widths of some layer are not the model's, or it has no K and V
  std::int64_t n_cached_layers() const;  ///< layers with K and V of their own
  /// Width of the input of attention's output projection.
  std::int64_t o_size() const { return n_heads * (latent.exists() ? latent.v_dim : head_dim); }
  /// Longest context that a load may ask for: max_position_embeddings; longer by its factor only if every RoPE scales
  /// dynamically.
  std::int64_t longest_context() const;
  /// The longest window, if all layers have one; 0: some layer sees the whole context.
  std::int64_t window_of_all() const;
  /// The windows below `context` tokens except window_of_all(), ascending, each once; none if not causal.
  std::vector<std::int64_t> shorter_windows(std::int64_t context) const;
  /// Tokens of a chunk; 0: no layer sees chunks.
  std::int64_t chunk_size() const;
  bool has_experts() const;           ///< true if any layer has
  bool has_recurrent_layers() const;  ///< true if any layer keeps a state in place of K and V
  /// State that a recurrent layer keeps of a sequence. Requires: layer.is_recurrent().
  kernels::StateShape state_of(const LayerConfig& layer) const {
    return layer.mixer == LayerMixer::short_conv ? short_conv.state(hidden_size) : delta_net.state();
  }
  bool is_parallel() const { return residual != Residual::sequential; }
  bool projects_embeddings() const { return embedding_size != hidden_size; }
};

/// True if a backend needs kernels::recurrent_operations() for the model's layers.
inline bool needs_recurrent_operations(const ModelConfig& config) {
  return config.has_output_gate || config.has_recurrent_layers();
}

/// Reads the text model's part (text_config.h) of a larger model's config. Errors: model_refused: an architecture that is
/// not read, with the part that it needs where that is known; a faulty field with got and expected, or the list of missing
/// and unsupported settings. `where` = "config.json: field".
Result<ModelConfig> read_model_config(const Json& config);

}  // namespace lathe::engine
