// SPDX-License-Identifier: Apache-2.0
#include "engine/model/gemma_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lathe::engine {

namespace {

double cap_or(ConfigReader& reader, std::string_view key, double usual) {
  return reader.is_null(key) ? 0 : reader.number_or(key, usual, 0, 1e6);
}

/// RoPE of the layers with a window.
RopeConfig read_gemma_local_rope(ConfigReader& reader, const ModelConfig& config) {
  const RopeDefaults defaults{.theta = 1e4, .rotary_dim = config.head_dim};
  if (reader.has("rope_parameters.sliding_attention")) {
    return read_rope(reader, defaults, config.max_position_embeddings, "sliding_attention");
  }
  return {.theta = reader.number_or("rope_local_base_freq", 1e4, 1, 1e12), .rotary_dim = config.head_dim};
}

}  // namespace

void read_gemma_parts(ConfigReader& reader, ModelConfig& config) {
  read_rms_norm(reader, config, 1e-6);
  config.norm.plus_one = true;
  config.rounds_embedding_multiplier = true;
  config.embedding_multiplier = std::sqrt(static_cast<double>(config.hidden_size));
  // Older files of Gemma 1 give "gelu" in hidden_act and mean gelu_pytorch_tanh.
  const std::string_view key = reader.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  config.activation = read_activation(reader, key, "gelu_pytorch_tanh");
  if (config.activation == kernels::Activation::gelu) config.activation = kernels::Activation::gelu_tanh;
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
}

void read_gemma_scores(ConfigReader& reader, ModelConfig& config, const SoftCaps& usual) {
  config.attention_scale = 1 / std::sqrt(reader.number_or("query_pre_attn_scalar", 256, 1e-3, 1e6));
  config.attention_soft_cap = cap_or(reader, "attn_logit_softcapping", usual.attention);
  config.logit_soft_cap = cap_or(reader, "final_logit_softcapping", usual.logits);
}

void read_gemma_ropes(ConfigReader& reader, ModelConfig& config) {
  const RopeDefaults full{.theta = 1e6, .rotary_dim = config.head_dim};
  config.ropes = {read_rope(reader, full, config.max_position_embeddings, "full_attention"),
                  read_gemma_local_rope(reader, config)};
  for (LayerConfig& layer : config.layers) layer.rope = layer.window > 0 ? 1 : 0;
}

void share_last_kv(ConfigReader& reader, ModelConfig& config, std::int64_t usual) {
  const std::int64_t most = config.n_layers - 1;
  const std::int64_t n_shared = reader.integer_or("num_kv_shared_layers", std::min(usual, most), 0, most);
  const std::int64_t first = config.n_layers - n_shared;
  for (std::int64_t i = first; i < config.n_layers; ++i) {
    LayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
    std::int64_t source = first - 1;
    while (source >= 0 && config.layers[static_cast<std::size_t>(source)].window != layer.window) --source;
    if (source < 0) {
      return reader.fault("num_kv_shared_layers",
                          fmt::format("got {}, but no layer before {} has the type of layer {}, whose K and V it could use",
                                      n_shared, first, i));
    }
    const LayerConfig& from = config.layers[static_cast<std::size_t>(source)];
    if (config.head_dim_of(from) != config.head_dim_of(layer) || config.kv_heads_of(from) != config.kv_heads_of(layer)) {
      return reader.fault("per_layer_config",
                          fmt::format("layer {} uses the K and V of layer {}, whose heads differ", i, source));
    }
    layer.kv_source = source;
    layer.k_is_v = false;
  }
}

void read_per_layer(ConfigReader& reader, ModelConfig& config) {
  constexpr std::int64_t kUsualSize = 256, kUsualVocab = 262144;
  config.per_layer.size = reader.integer_or("hidden_size_per_layer_input", kUsualSize, 0, kMaxWidth);
  const std::int64_t n_rows = reader.integer_or("vocab_size_per_layer_input", kUsualVocab, 1, kMaxVocab);
  if (config.per_layer.exists()) config.per_layer.vocab_size = n_rows;
}

}  // namespace lathe::engine
