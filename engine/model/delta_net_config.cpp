// SPDX-License-Identifier: Apache-2.0
#include "engine/model/delta_net_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/model/architectures.h"
#include "engine/model/config_reader.h"
#include "engine/model/model_config.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kDeltaNetLayer = "linear_attention", kFullAttentionLayer = "full_attention";

void read_sizes_of_heads(ConfigReader& reader, DeltaNetConfig& net) {
  net.n_key_heads = reader.integer_or("linear_num_key_heads", 16, 1, kMaxHeads);
  net.n_heads = reader.integer_or("linear_num_value_heads", 32, 1, kMaxHeads);
  net.key_dim = reader.integer_or("linear_key_head_dim", 128, 1, kMaxHeadDim);
  net.value_dim = reader.integer_or("linear_value_head_dim", 128, 1, kMaxHeadDim);
  net.conv_kernel = reader.integer_or("linear_conv_kernel_dim", 4, 2, kernels::kMaxConvKernel);
  net.is_tiled = reader.boolean_or("linear_value_heads_tiled", false) && net.n_heads != net.n_key_heads;
  if (net.n_heads % net.n_key_heads == 0) return;
  reader.fault("linear_num_value_heads",
               fmt::format("got {}, expected a multiple of linear_num_key_heads {}", net.n_heads, net.n_key_heads));
}

/// The type of each layer. Empty: the file's list is faulty.
std::vector<std::string> layer_types(ConfigReader& reader, std::int64_t n_layers) {
  const std::int64_t interval = reader.integer_or("full_attention_interval", 4, 1, kMaxLayers);
  std::vector<std::string> types = reader.texts("layer_types", static_cast<std::size_t>(kMaxLayers));
  if (types.empty()) {
    for (std::int64_t i = 0; i < n_layers; ++i)
      types.emplace_back((i + 1) % interval == 0 ? kFullAttentionLayer : kDeltaNetLayer);
  }
  if (types.size() < static_cast<std::size_t>(n_layers)) {
    reader.fault("layer_types", fmt::format("got a list of {}, expected one for each of {} layers", types.size(), n_layers));
    return {};
  }
  types.resize(static_cast<std::size_t>(n_layers));
  const auto is_unknown = [](const std::string& type) { return type != kDeltaNetLayer && type != kFullAttentionLayer; };
  const auto unknown = std::find_if(types.begin(), types.end(), is_unknown);
  if (unknown == types.end()) return types;
  reader.unmet(
      fmt::format("layers of type '{:.32}' (layer_types; known: {}, {})", *unknown, kFullAttentionLayer, kDeltaNetLayer));
  return {};
}

}  // namespace

void read_delta_net(ConfigReader& reader, ModelConfig& config) {
  read_sizes_of_heads(reader, config.delta_net);
  const std::vector<std::string> types = layer_types(reader, config.n_layers);
  config.layers.resize(static_cast<std::size_t>(config.n_layers));
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i] == kDeltaNetLayer) config.layers[i].mixer = LayerMixer::gated_delta_net;
  }
  if (!types.empty() && std::find(types.begin(), types.end(), kFullAttentionLayer) == types.end()) {
    reader.unmet("a model without any layer of attention (layer_types)");
  }
}

}  // namespace lathe::engine
