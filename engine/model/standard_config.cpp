// SPDX-License-Identifier: Apache-2.0
#include "engine/model/standard_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace lathe::engine {

namespace {

struct ActivationName {
  std::string_view name;
  kernels::Activation activation;
};
constexpr std::array kActivationNames = {ActivationName{"silu", kernels::Activation::silu},
                                         ActivationName{"swish", kernels::Activation::silu},
                                         ActivationName{"gelu", kernels::Activation::gelu},
                                         ActivationName{"gelu_python", kernels::Activation::gelu},
                                         ActivationName{"gelu_python_tanh", kernels::Activation::gelu_tanh},
                                         ActivationName{"gelu_accurate", kernels::Activation::gelu_tanh},
                                         ActivationName{"gelu_new", kernels::Activation::gelu_tanh},
                                         ActivationName{"gelu_fast", kernels::Activation::gelu_tanh},
                                         ActivationName{"gelu_pytorch_tanh", kernels::Activation::gelu_tanh},
                                         ActivationName{"relu", kernels::Activation::relu},
                                         ActivationName{"relu2", kernels::Activation::relu_squared}};

/// Takes a family's own keys; the usual key instead where the file has only that one, as transformers reads them.
SizeKeys keys_in(const ConfigReader& reader, SizeKeys keys) {
  constexpr SizeKeys kUsual;
  const auto choose = [&](std::string_view& own, std::string_view usual) {
    if (!own.empty() && !reader.has(own) && reader.has(usual)) own = usual;
  };
  choose(keys.hidden, kUsual.hidden);
  choose(keys.layers, kUsual.layers);
  choose(keys.heads, kUsual.heads);
  choose(keys.positions, kUsual.positions);
  return keys;
}

}  // namespace

void read_sizes(ConfigReader& reader, ModelConfig& config, const Defaults& defaults, const SizeKeys& own_keys) {
  const SizeKeys keys = keys_in(reader, own_keys);
  config.vocab_size = reader.integer("vocab_size", 1, kMaxVocab);
  config.hidden_size = reader.integer(keys.hidden, 1, kMaxWidth);
  if (!keys.inner.empty()) config.intermediate_size = reader.integer(keys.inner, 1, kMaxWidth);
  config.n_layers = reader.integer(keys.layers, 1, kMaxLayers);
  config.n_heads = reader.integer(keys.heads, 1, kMaxHeads);
  // null means the size that follows from other fields; absence means the default of the family's class.
  const bool has_usual_kv_heads = defaults.n_kv_heads > 0 && !reader.is_null(keys.kv_heads);
  const std::int64_t usual_kv_heads = has_usual_kv_heads ? defaults.n_kv_heads : config.n_heads;
  config.n_kv_heads = keys.kv_heads.empty()
                          ? usual_kv_heads
                          : reader.integer_or(keys.kv_heads, std::min(usual_kv_heads, config.n_heads), 1, config.n_heads);
  config.max_position_embeddings = defaults.n_positions;
  if (!keys.positions.empty()) {
    config.max_position_embeddings = reader.integer_or(keys.positions, defaults.n_positions, 1, kMaxPositions);
  }
  config.tied_embeddings = reader.boolean_or("tie_word_embeddings", defaults.tied_embeddings);
  const bool has_usual_dim = defaults.head_dim > 0 && !reader.is_null("head_dim");
  if (!reader.has("head_dim") && !has_usual_dim && config.hidden_size % config.n_heads != 0) {
    reader.fault(keys.hidden, fmt::format("expected a multiple of {}, because head_dim is not given", keys.heads));
  }
  const std::int64_t by_width = std::max<std::int64_t>(config.hidden_size / config.n_heads, 1);
  config.head_dim = reader.integer_or("head_dim", has_usual_dim ? defaults.head_dim : by_width, 1, kMaxHeadDim);
}

void read_llama_parts(ConfigReader& reader, ModelConfig& config, const Defaults& defaults) {
  read_sizes(reader, config, defaults);
  read_rms_norm(reader, config, defaults.rms_norm_eps);
  read_whole_rope(reader, config, defaults.rope_theta);
  config.activation = read_activation(reader, "hidden_act", "silu");
}

void read_llama_biases(ConfigReader& reader, ModelConfig& config) {
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.mlp_bias = reader.boolean_or("mlp_bias", false);
}

void read_granite_factors(ConfigReader& reader, ModelConfig& config) {
  config.embedding_multiplier = reader.number_or("embedding_multiplier", 1, 1e-6, 1e6);
  config.residual_multiplier = reader.number_or("residual_multiplier", 1, 1e-6, 1e6);
  config.attention_scale = reader.number_or("attention_multiplier", 1, 1e-6, 1e6);
  config.logit_multiplier = 1 / reader.number_or("logits_scaling", 1, 1e-6, 1e6);
}

void drop_rope_of_full_layers(ModelConfig& config) {
  for (LayerConfig& layer : config.layers) layer.rope = layer.window > 0 ? 0 : -1;
}

void norm_queries(ModelConfig& config, QkNorm place) {
  config.qk_norm = place;
  config.qk_norm_form = config.norm;
}

void read_rms_norm(ConfigReader& reader, ModelConfig& config, double eps) {
  config.norm = {.kind = kernels::NormKind::rms, .eps = reader.number_or("rms_norm_eps", eps, 0, 1)};
}

void read_layer_norm(ConfigReader& reader, ModelConfig& config, std::string_view key, double eps, bool has_bias) {
  config.norm = {.kind = kernels::NormKind::layer, .eps = reader.number_or(key, eps, 0, 1), .has_bias = has_bias};
}

kernels::Activation read_activation(ConfigReader& reader, std::string_view key, std::string_view fallback) {
  const std::string name = reader.text_or(key, fallback);
  for (const ActivationName& row : kActivationNames) {
    if (row.name == name) return row.activation;
  }
  reader.unmet(fmt::format("activation '{:.32}' ({}; known: silu, gelu, gelu_new, relu, relu2)", name, key));
  return kernels::Activation::silu;
}

void read_whole_rope(ConfigReader& reader, ModelConfig& config, double theta) {
  const RopeDefaults defaults{.theta = theta, .rotary_dim = config.head_dim};
  config.ropes = {read_rope(reader, defaults, config.max_position_embeddings)};
}

void read_partial_rope(ConfigReader& reader, ModelConfig& config, const PartialRope& usual) {
  const RopeDefaults defaults{.theta = usual.theta,
                              .rotary_dim = partial_rotary_dim(reader, config.head_dim, usual.factor, usual.may_be_odd),
                              .style = usual.style,
                              .old_context = usual.old_context};
  config.ropes = {read_rope(reader, defaults, config.max_position_embeddings)};
}

void read_upper_windows(ConfigReader& reader, ModelConfig& config) {
  // Files may have any value where windows are off, and a first layer beyond the last where they are on.
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
  const bool slides = reader.boolean_or("use_sliding_window", false);
  const std::int64_t window = reader.integer_or("sliding_window", 4096, slides ? 0 : kLeast, slides ? kMaxPositions : kMost);
  const std::int64_t first = reader.integer_or("max_window_layers", 28, slides ? 0 : kLeast, kMost);
  read_windows(reader, config, slides ? window : 0, [&](std::int64_t layer) { return slides && layer >= first; });
}

void read_experts(ConfigReader& reader, ModelConfig& config, std::int64_t n_experts, std::int64_t top_k,
                  const ExpertKeys& keys) {
  MoeConfig& moe = config.moe;
  const std::int64_t listed = reader.integer_or(keys.n_experts_too, n_experts, 1, kMaxExperts);
  moe.n_experts = reader.integer_or(keys.n_experts, listed, 1, kMaxExperts);
  moe.top_k = reader.integer_or(keys.top_k, top_k, 1, kMaxExperts);
  if (moe.top_k > moe.n_experts) {
    reader.fault(keys.top_k, fmt::format("got {}, but there are only {} experts", moe.top_k, moe.n_experts));
    moe.top_k = moe.n_experts;
  }
  moe.expert_size = keys.usual_size > 0 ? reader.integer_or(keys.size, keys.usual_size, 1, kMaxWidth)
                                        : reader.integer(keys.size, 1, kMaxWidth);
  config.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (LayerConfig& layer : config.layers) layer.has_experts = true;
}

void read_sparse_layers(ConfigReader& reader, ModelConfig& config) {
  const std::int64_t step = reader.integer_or("decoder_sparse_step", 1, 1, kMaxLayers);
  const auto n_layers = static_cast<double>(config.n_layers);
  const std::vector<double> dense = reader.numbers("mlp_only_layers", static_cast<std::size_t>(kMaxLayers), 0, n_layers);
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const bool is_dense = std::find(dense.begin(), dense.end(), static_cast<double>(i)) != dense.end();
    config.layers[i].has_experts = !is_dense && (static_cast<std::int64_t>(i) + 1) % step == 0;
  }
}

std::vector<bool> read_layer_types(ConfigReader& reader, const ModelConfig& config) {
  std::vector<bool> slides;
  for (const std::string& type : reader.texts("layer_types", static_cast<std::size_t>(kMaxLayers))) {
    if (type != "full_attention" && type != "attention" && type != "sliding_attention") {
      reader.unmet(fmt::format("layers of type '{:.32}' (layer_types; known: full_attention, sliding_attention)", type));
      return {};
    }
    slides.push_back(type == "sliding_attention");
  }
  if (!slides.empty() && slides.size() < static_cast<std::size_t>(config.n_layers)) {
    reader.fault("layer_types",
                 fmt::format("got a list of {}, expected one for each of {} layers", slides.size(), config.n_layers));
    return {};
  }
  return slides;
}

}  // namespace lathe::engine
