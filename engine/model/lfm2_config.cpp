// SPDX-License-Identifier: Apache-2.0
#include "engine/model/lfm2_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace lathe::engine {
namespace {

constexpr std::string_view kShortConvLayer = "conv", kLfm2AttentionLayer = "full_attention";

/// The type of each layer, as the file lists it or by the indices of the layers of attention; all of them where it has
/// neither.
std::vector<std::string> read_types(ConfigReader& reader, std::int64_t n_layers) {
  const bool has_indices = reader.has("full_attn_idxs");
  const std::vector<double> attends =
      reader.numbers("full_attn_idxs", static_cast<std::size_t>(kMaxLayers), 0, static_cast<double>(kMaxLayers));
  std::vector<std::string> types = reader.texts("layer_types", static_cast<std::size_t>(kMaxLayers));
  if (!types.empty()) return types;
  for (std::int64_t i = 0; i < n_layers; ++i) {
    const bool is_listed = std::find(attends.begin(), attends.end(), static_cast<double>(i)) != attends.end();
    types.emplace_back(is_listed || !has_indices ? kLfm2AttentionLayer : kShortConvLayer);
  }
  return types;
}

void read_layers(ConfigReader& reader, ModelConfig& config) {
  std::vector<std::string> types = read_types(reader, config.n_layers);
  if (types.size() < static_cast<std::size_t>(config.n_layers)) {
    reader.fault("layer_types",
                 fmt::format("got a list of {}, expected one for each of {} layers", types.size(), config.n_layers));
    return;
  }
  types.resize(static_cast<std::size_t>(config.n_layers));
  config.layers.resize(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] != kShortConvLayer && types[i] != kLfm2AttentionLayer) {
      return reader.unmet(fmt::format("layers of type '{:.32}' (layer_types; known: {}, {})", types[i], kLfm2AttentionLayer,
                                      kShortConvLayer));
    }
    if (types[i] == kShortConvLayer) config.layers[i].mixer = LayerMixer::short_conv;
  }
  if (std::find(types.begin(), types.end(), kLfm2AttentionLayer) == types.end()) {
    reader.unmet("a model without any layer of attention (layer_types)");
  }
}

}  // namespace

void read_lfm2_parts(ConfigReader& reader, ModelConfig& config) {
  config.norm = {.kind = kernels::NormKind::rms, .eps = reader.number_or("norm_eps", 1e-5, 0, 1)};
  config.tied_embeddings = reader.boolean_or("tie_embedding", reader.boolean_or("tie_word_embeddings", true));
  norm_queries(config, QkNorm::head);
  read_whole_rope(reader, config, 1e6);
  config.short_conv = {.kernel = reader.integer_or("conv_L_cache", 3, 2, kernels::kMaxConvKernel),
                       .has_bias = reader.boolean_or("conv_bias", false)};
  read_layers(reader, config);
}

}  // namespace lathe::engine
