// SPDX-License-Identifier: Apache-2.0
// Granite 4 and 4.1 without recurrent layers: Granite whose MLP is called a shared expert, and whose layers may have no
// RoPE. Source: Hugging Face transformers, GraniteMoeHybridConfig.
#include <fmt/format.h>

#include <algorithm>

#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr auto kGranite4Tensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention,
           std::array{TensorName{WeightRole::gate_up, "layers.{}.shared_mlp.input_linear.weight"},
                      TensorName{WeightRole::down, "layers.{}.shared_mlp.output_linear.weight"}});

/// Published files and newer versions of transformers have two names for each kind of layer. Without a list all layers are
/// recurrent.
bool has_recurrent_layers(ConfigReader& reader) {
  const std::string_view key = reader.has("layer_types") ? "layer_types" : "layers_block_type";
  const std::vector<std::string> types = reader.texts(key, static_cast<std::size_t>(kMaxLayers));
  return types.empty() || std::any_of(types.begin(), types.end(), [](const std::string& type) {
           return type != "attention" && type != "full_attention";
         });
}

void read_granite4_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {}, {.inner = "shared_intermediate_size"});
  read_rms_norm(reader, config, 1e-6);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  if (has_recurrent_layers(reader)) reader.unmet("recurrent layers (Mamba 2; layer_types)");
  if (reader.integer_or("num_local_experts", 8, 0, kMaxExperts) > 0) {
    reader.unmet("experts that all layers have beside their MLP (num_local_experts)");
  }
  const std::string positions = reader.text_or("position_embedding_type", "nope");
  if (positions == "rope") {
    read_whole_rope(reader, config);
  } else if (positions != "nope") {
    reader.unmet(fmt::format("positions of the kind '{:.32}' (position_embedding_type; known: rope, nope)", positions));
  }
  read_granite_factors(reader, config);
}

}  // namespace

extern constexpr Architecture kGranite4{
    .name = "GraniteMoeHybridForCausalLM",
    .model_type = "granitemoehybrid",
    .tensors = kGranite4Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_granite4_config,
};

}  // namespace lathe::engine
