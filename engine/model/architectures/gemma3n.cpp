// SPDX-License-Identifier: Apache-2.0
// Gemma 3n, text: four residual streams of which each layer computes one (AltUp), a learned residual (LAuReL), embeddings of
// each token for every layer, MLPs whose small gates are cut off, last layers that read the K and V of earlier ones.
// Source: Gemma Team 2025; Hugging Face transformers, Gemma3nTextConfig, modeling_gemma3n.
#include <fmt/format.h>

#include "engine/model/gemma_config.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kGemma3nPeriod = 5, kGemma3nShared = 15, kGemma3nSparse = 10;
constexpr double kUsualSparsity = 0.95, kMostSparsity = 0.999999;

/// A number for all layers, or a list with one for each; `usual(i)` where the file has neither.
template <class Usual>
std::vector<double> read_gemma3n_values(ConfigReader& reader, const ModelConfig& config, std::string_view key, double least,
                                        double most, const Usual& usual) {
  const auto n = static_cast<std::size_t>(config.n_layers);
  std::vector<double> values;
  if (reader.is_list(key)) {
    values = reader.numbers(key, n, least, most);
    if (values.size() == n) return values;
    reader.fault(key, fmt::format("got a list of {}, expected one for each of {} layers", values.size(), n));
    values.clear();
  }
  const bool is_one = !reader.is_list(key) && reader.has(key);
  const double one = is_one ? reader.number(key, least, most) : least;
  for (std::size_t i = 0; i < n; ++i) values.push_back(is_one ? one : usual(i));
  return values;
}

void read_gemma3n_widths(ConfigReader& reader, ModelConfig& config) {
  const auto widths = read_gemma3n_values(reader, config, "intermediate_size", 1, static_cast<double>(kMaxWidth),
                                          [](std::size_t) { return 16384.0; });
  const bool has_sparse = config.n_layers > kGemma3nSparse;
  const auto sparsities =
      read_gemma3n_values(reader, config, "activation_sparsity_pattern", 0, kMostSparsity, [&](std::size_t layer) {
        return has_sparse && layer < static_cast<std::size_t>(kGemma3nSparse) ? kUsualSparsity : 0.0;
      });
  config.intermediate_size = static_cast<std::int64_t>(widths.front());
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    const auto width = static_cast<std::int64_t>(widths[i]);
    if (width != config.intermediate_size) config.layers[i].intermediate_size = width;
    config.layers[i].activation_sparsity = sparsities[i];
  }
}

void read_streams(ConfigReader& reader, ModelConfig& config) {
  AltUpConfig& altup = config.altup;
  altup.n_streams = kAltUpStreams;
  const std::int64_t n = reader.integer_or("altup_num_inputs", kAltUpStreams, 1, 1 << 10);
  if (n != kAltUpStreams) reader.unmet(fmt::format("{} residual streams (altup_num_inputs; known: {})", n, kAltUpStreams));
  altup.active = reader.integer_or("altup_active_idx", 0, 0, kAltUpStreams - 1);
  altup.scales_corrected = reader.boolean_or("altup_correct_scale", true);
  altup.laurel_rank = reader.integer_or("laurel_rank", 64, 1, kMaxWidth);
}

void read_gemma3n_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 256, .n_positions = 32768, .tied_embeddings = true},
             {.inner = ""});
  read_gemma_parts(reader, config);
  config.norm.plus_one = false;
  config.norm_place = NormPlace::around;
  norm_queries(config, QkNorm::head);
  config.attention_scale = 1;
  config.has_v_norm = true;
  config.logit_soft_cap =
      reader.is_null("final_logit_softcapping") ? 0 : reader.number_or("final_logit_softcapping", 30, 0, 1e6);
  const std::int64_t window = reader.integer_or("sliding_window", 512, 1, kMaxPositions);
  read_windows(reader, config, window, [](std::int64_t layer) { return (layer + 1) % kGemma3nPeriod != 0; });
  read_gemma_ropes(reader, config);
  read_gemma3n_widths(reader, config);
  share_last_kv(reader, config, kGemma3nShared);
  read_per_layer(reader, config);
  if (!config.per_layer.exists()) reader.unmet("layers without per-layer embeddings (hidden_size_per_layer_input)");
  read_streams(reader, config);
}

constexpr std::array kGemma3nExtras = {
    TensorName{WeightRole::per_layer_embedding, "embed_tokens_per_layer.weight"},
    TensorName{WeightRole::per_layer_model_proj, "per_layer_model_projection.weight"},
    TensorName{WeightRole::per_layer_proj_norm, "per_layer_projection_norm.weight"},
    TensorName{WeightRole::per_layer_gate, "layers.{}.per_layer_input_gate.weight"},
    TensorName{WeightRole::per_layer_proj, "layers.{}.per_layer_projection.weight"},
    TensorName{WeightRole::per_layer_norm, "layers.{}.post_per_layer_input_norm.weight"},
    TensorName{WeightRole::altup_proj_1, "altup_projections.0.weight"},
    TensorName{WeightRole::altup_proj_2, "altup_projections.1.weight"},
    TensorName{WeightRole::altup_proj_3, "altup_projections.2.weight"},
    TensorName{WeightRole::altup_unembed_1, "altup_unembed_projections.0.weight"},
    TensorName{WeightRole::altup_unembed_2, "altup_unembed_projections.1.weight"},
    TensorName{WeightRole::altup_unembed_3, "altup_unembed_projections.2.weight"},
    TensorName{WeightRole::altup_router_norm, "layers.{}.altup.router_norm.weight"},
    TensorName{WeightRole::altup_router, "layers.{}.altup.modality_router.weight"},
    TensorName{WeightRole::altup_predict, "layers.{}.altup.prediction_coefs.weight"},
    TensorName{WeightRole::altup_correct, "layers.{}.altup.correction_coefs.weight"},
    TensorName{WeightRole::altup_scale, "layers.{}.altup.correct_output_scale"},
    TensorName{WeightRole::laurel_left, "layers.{}.laurel.linear_left.weight"},
    TensorName{WeightRole::laurel_right, "layers.{}.laurel.linear_right.weight"},
    TensorName{WeightRole::laurel_norm, "layers.{}.laurel.post_laurel_norm.weight"},
};
constexpr auto kGemma3nTensors = joined(kGemma2Tensors, kGemma3nExtras);

}  // namespace

extern constexpr Architecture kGemma3n{
    .name = "Gemma3nForCausalLM",
    .model_type = "gemma3n_text",
    .tensors = kGemma3nTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gemma3n_config,
};

}  // namespace lathe::engine
