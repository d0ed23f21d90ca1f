// SPDX-License-Identifier: Apache-2.0
// Muse Glimmer, text: norms before and after attention and MLP, a gate on the output of attention, Q and K normalised
// without a weight, normalised embeddings; every fourth layer from the last one on sees the whole context without RoPE.
// Source: Meta 2026; Hugging Face transformers, MuseGlimmerTextConfig.
#include <cmath>

#include "engine/model/gemma_config.h"

namespace lathe::engine {
namespace {

constexpr auto kMuseTensors =
    joined(kGemma2Tensors, std::array{TensorName{WeightRole::attention_gate, "layers.{}.self_attn.gate_proj.weight"}});

// Norms of Q and K have no weight; GGUF files have the factor of Q in its place.
constexpr std::array<std::string_view, 3> kMuseIgnored = {".rotary_emb.inv_freq", ".self_attn.q_norm.weight",
                                                          ".self_attn.k_norm.weight"};

/// Reads windows, and which layers have RoPE: a theta for each layer, which is 0 for none.
void read_muse_layers(ConfigReader& reader, ModelConfig& config) {
  const std::int64_t n = config.n_layers;
  const auto is_whole = [n](std::int64_t layer) { return (n - 1 - layer) % 4 == 0; };
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 2048, 1, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t layer) { return !is_whole(layer); });
  const std::vector<double> thetas = reader.numbers("layer_rope_theta", static_cast<std::size_t>(kMaxLayers), 0, 1e12);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool rotates = at < thetas.size() ? thetas[at] != 0 : !is_whole(i);
    config.layers[at].rope = rotates ? 0 : -1;
  }
}

void read_muse_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 128, .n_positions = 131072});
  read_rms_norm(reader, config, 1e-5);
  const NormConfig plain = config.norm;
  config.norm.plus_one = true;
  config.out_norm = config.norm;
  config.out_norm->eps = reader.number_or("post_norm_eps", 1e-8, 0, 1);
  config.final_norm = plain;
  config.embedding_norm = config.qk_norm_form = plain;
  config.embedding_norm->is_weightless = config.qk_norm_form.is_weightless = true;
  config.has_embedding_norm = true;
  config.qk_norm = QkNorm::head;
  config.norm_place = NormPlace::around;
  read_whole_rope(reader, config);
  config.activation = read_activation(reader, "hidden_activation", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  config.n_attention_gates = config.q_size();
  // Q is scaled in addition to its norm.
  config.attention_scale =
      reader.number_or("qk_scale_factor", 3.87, 1e-6, 1e6) / std::sqrt(static_cast<double>(config.head_dim));
  config.logit_multiplier = reader.number_or("output_multiplier", 0.19611613513818404, 1e-6, 1e6);
  config.logit_soft_cap =
      reader.is_null("final_logit_softcapping") ? 0 : reader.number_or("final_logit_softcapping", 20, 0, 1e6);
  read_muse_layers(reader, config);
}

}  // namespace

extern constexpr Architecture kMuseGlimmer{
    .name = "MuseGlimmerForCausalLM",
    .model_type = "muse_glimmer_text",
    .tensors = kMuseTensors,
    .ignored_suffixes = kMuseIgnored,
    .read_config = read_muse_config,
};

}  // namespace lathe::engine
