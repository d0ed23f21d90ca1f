// SPDX-License-Identifier: Apache-2.0
// ModelConfig: the numbers of config.json that a decoder is built from, checked and completed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"
#include "engine/model/latent_config.h"
#include "engine/model/moe_config.h"
#include "engine/model/rope_config.h"

namespace lathe::engine {

struct Architecture;

struct NormConfig {
  kernels::NormKind kind = kernels::NormKind::rms;
  double eps = 0;
  bool has_bias = false;
  bool plus_one = false;  ///< files hold the weight less 1: Gemma
};

/// Where the norms of a layer stand; x is the residual stream.
enum class NormPlace : std::uint8_t {
  before,    ///< x += part(norm(x))
  around,    ///< x += norm(part(norm(x))): Gemma 2
  behind,    ///< x += norm(part(x)): OLMo 2
  on_stream  ///< x = norm(x + part(x)): OPT-350m
};

/// What the MLP of a layer reads.
enum class Residual : std::uint8_t {
  sequential,         ///< the norm of what attention has left
  parallel,           ///< the same norm as attention: GPT-J, Falcon-7B
  parallel_two_norms  ///< another norm of what attention reads: GPT-NeoX, Falcon-40B
};

/// What Q and K are normalised over before RoPE.
enum class QkNorm : std::uint8_t {
  none,
  head,       ///< each head, all with one weight [head_dim]: Qwen3
  own_heads,  ///< each head with a weight of its own: StableLM-12B, Cohere
  all_heads   ///< all heads together: OLMo 2
};

struct LayerConfig {
  std::int64_t window = 0;   ///< tokens that a row sees, itself included; 0: all before it
  int rope = 0;              ///< of ModelConfig::ropes; -1: none
  bool has_experts = false;  ///< in place of its MLP
  double score_factor = 1;   ///< of ModelConfig::attention_scale
};

struct ModelConfig {
  const Architecture* architecture = nullptr;
  std::int64_t vocab_size = 0, hidden_size = 0, n_layers = 0, n_heads = 0, n_kv_heads = 0, head_dim = 0,
               intermediate_size = 0, max_position_embeddings = 0;
  NormConfig norm;
  NormPlace norm_place = NormPlace::before;
  Residual residual = Residual::sequential;
  bool has_final_norm = true;

  bool is_causal = true;  ///< a row sees what is before it; else the whole text, which then comes in one step: BERT
  bool has_head = true;   ///< logits are made; else the model gives hidden states and no more

  std::vector<RopeConfig> ropes;                              ///< none: positions are learned, ALiBi, or left out
  std::vector<LayerConfig> layers;                            ///< n_layers of them
  std::int64_t n_learned_positions = 0, position_offset = 0;  ///< row of position p: p + offset; 0 rows: none are learned
  std::int64_t n_token_types = 0;                             ///< learned rows for the sentences of a pair: BERT
  std::vector<float> alibi_slopes;                            ///< [n_heads]; none: no ALiBi
  /// Scale of products of slopes and positions that are rounded to bf16 (Falcon); 0: none are.
  double rounded_alibi_scale = 0;

  QkNorm qk_norm = QkNorm::none;
  NormConfig qk_norm_form;
  double attention_scale = 0;                                       ///< of q k^T
  double attention_soft_cap = 0, logit_soft_cap = 0, clip_qkv = 0;  ///< 0: none
  bool has_sinks = false;

  LatentConfig latent;  ///< in place of Q, K and V of their own; then there is one KV head, as wide as what is cached

  kernels::Activation activation = kernels::Activation::silu;
  bool is_gated = true;  ///< the MLP

  MoeConfig moe;  ///< of the layers that have experts

  double embedding_multiplier = 1, residual_multiplier = 1, logit_multiplier = 1;
  bool has_embedding_norm = false;
  std::int64_t embedding_size = 0;  ///< of a row of the embeddings; other than hidden_size: projected to it and back

  bool tied_embeddings = false;
  bool normalises_head = false;  ///< its rows have length 1: Baichuan 2
  bool qkv_bias = false, attention_out_bias = false, mlp_bias = false, head_bias = false;
  std::optional<std::int32_t> bos_id;
  std::vector<std::int32_t> eos_ids;

  std::int64_t q_size() const { return n_heads * head_dim; }
  std::int64_t kv_size() const { return n_kv_heads * head_dim; }
  /// What the output product of attention reads.
  std::int64_t o_size() const { return n_heads * (latent.exists() ? latent.v_dim : head_dim); }
  /// The longest context that may be asked for: more than max_position_embeddings only where RoPE stretches with the context
  /// (dynamic), as far as its factor goes.
  std::int64_t longest_context() const;
  /// The longest window, if all layers have one; 0: some layer sees all.
  std::int64_t window_of_all() const;
  /// The windows of layers that see less than window_of_all() and less than `context` tokens, rising, each once.
  std::vector<std::int64_t> shorter_windows(std::int64_t context) const;
  bool has_experts() const;  ///< a layer has
  bool is_parallel() const { return residual != Residual::sequential; }
  bool projects_embeddings() const { return embedding_size != hidden_size; }
};

/// Of a model that also sees or hears ("text_config") the part that reads and writes text.
/// Errors: model_refused: an unknown architecture with what it would need, a faulty field with got and expected, or the list
/// of what is missing or unmet. `where` = "config.json: field".
Result<ModelConfig> read_model_config(const Json& config);

}  // namespace lathe::engine
