// SPDX-License-Identifier: Apache-2.0
// Llama 4, text: attention in chunks; layers without RoPE that see the whole context, with queries that grow with their
// position; one expert a row in addition to a shared one. Source: Meta 2025; Hugging Face transformers, Llama4TextConfig.
#include <fmt/format.h>

#include <algorithm>

#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

// The family's own files stack the experts of a layer as [experts, inputs, outputs]; GGUF files have matrices.
constexpr auto kLlama4Tensors = joined(
    kLlamaEnds, kLlamaNorms, kLlamaAttention,
    std::array{
        TensorName{WeightRole::gate, "layers.{}.feed_forward.gate_proj.weight"},
        TensorName{WeightRole::up, "layers.{}.feed_forward.up_proj.weight"},
        TensorName{WeightRole::down, "layers.{}.feed_forward.down_proj.weight"},
        TensorName{WeightRole::router, "layers.{}.feed_forward.router.weight"},
        TensorName{WeightRole::expert_gate_up, "layers.{}.feed_forward.experts.{}.gate_up_proj", TensorLayout::transposed},
        TensorName{WeightRole::expert_down, "layers.{}.feed_forward.experts.{}.down_proj", TensorLayout::transposed},
        TensorName{WeightRole::expert_gate, "layers.{}.feed_forward.experts.{}.gate_proj.weight"},
        TensorName{WeightRole::expert_up, "layers.{}.feed_forward.experts.{}.up_proj.weight"},
        TensorName{WeightRole::expert_down, "layers.{}.feed_forward.experts.{}.down_proj.weight"},
        TensorName{WeightRole::shared_gate, "layers.{}.feed_forward.shared_expert.gate_proj.weight"},
        TensorName{WeightRole::shared_up, "layers.{}.feed_forward.shared_expert.up_proj.weight"},
        TensorName{WeightRole::shared_down, "layers.{}.feed_forward.shared_expert.down_proj.weight"},
    });

/// Reads which layers have RoPE: a list, or all but every `no_rope_layer_interval`th.
void read_llama4_rope_layers(ConfigReader& reader, ModelConfig& config) {
  const std::int64_t interval = reader.integer_or("no_rope_layer_interval", 4, 1, kMaxLayers);
  const std::vector<double> listed = reader.numbers("no_rope_layers", static_cast<std::size_t>(kMaxLayers), 0, 1);
  if (!listed.empty() && std::ssize(listed) < config.n_layers) {
    reader.fault("no_rope_layers",
                 fmt::format("got a list of {}, expected one for each of {} layers", listed.size(), config.n_layers));
  }
  const bool normalises = reader.boolean_or("use_qk_norm", true);
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool rotates = at < listed.size() ? listed[at] != 0 : (i + 1) % interval != 0;
    config.layers[at].rope = rotates ? 0 : 1;
    config.layers[at].norms_queries = rotates && normalises;
  }
}

/// Reads which layers see a chunk of the context: those that `layer_types` lists, else those with RoPE.
void read_llama4_chunks(ConfigReader& reader, ModelConfig& config) {
  const bool has_chunks = !reader.is_null("attention_chunk_size");
  const std::int64_t chunk = has_chunks ? reader.integer_or("attention_chunk_size", 8192, 1, kMaxPositions) : 0;
  const std::vector<std::string> types = reader.texts("layer_types", static_cast<std::size_t>(kMaxLayers));
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    LayerConfig& layer = config.layers[i];
    const bool is_chunked = i < types.size() ? types[i] == "chunked_attention" : layer.rope == 0;
    layer.window = is_chunked ? chunk : 0;
  }
  config.has_chunks = has_chunks;
}

/// Reads the RoPE of the layers that have one, and the growth of queries in the others.
void read_llama4_positions(ConfigReader& reader, ModelConfig& config) {
  const RopeDefaults defaults{.theta = 5e5, .rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved};
  RopeConfig still{.rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved, .is_still = true};
  if (reader.switch_or("attn_temperature_tuning", true)) {
    still.query_growth = reader.number_or("attn_scale", 0.1, 0, 1e6);
    still.original_max_position_embeddings = reader.integer_or("floor_scale", 8192, 1, kMaxPositions);
    still.growth_offset = 1;
  }
  config.ropes = {read_rope(reader, defaults, config.max_position_embeddings), still};
}

/// Reads which layers have experts: a list, or every `interleave_moe_layer_step`th.
void read_llama4_expert_layers(ConfigReader& reader, ModelConfig& config) {
  const std::int64_t step = reader.integer_or("interleave_moe_layer_step", 1, 1, kMaxLayers);
  const bool is_listed = reader.has("moe_layers");
  const std::vector<double> listed =
      reader.numbers("moe_layers", static_cast<std::size_t>(kMaxLayers), 0, static_cast<double>(config.n_layers));
  for (std::int64_t i = 0; i < config.n_layers; ++i) {
    const bool is_of_list = std::find(listed.begin(), listed.end(), static_cast<double>(i)) != listed.end();
    config.layers[static_cast<std::size_t>(i)].has_experts = is_listed ? is_of_list : (i + 1) % step == 0;
  }
}

void read_llama4_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 8, .head_dim = 128, .n_positions = 131072}, {.inner = "intermediate_size_mlp"});
  read_rms_norm(reader, config, 1e-5);
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("attention_bias", false);
  read_llama4_positions(reader, config);
  read_experts(reader, config, 16, 1, {.size = "intermediate_size"});
  read_llama4_expert_layers(reader, config);
  read_llama4_rope_layers(reader, config);
  read_llama4_chunks(reader, config);
  // Without a weight the length of a head is the same before and after RoPE.
  config.qk_norm = QkNorm::head;
  config.qk_norm_form = {.kind = kernels::NormKind::rms, .eps = config.norm.eps, .is_weightless = true};
  config.moe.shared_size = config.moe.expert_size;
  config.moe.score = RouterScore::sigmoid;
  config.moe.weighs_input = true;
}

}  // namespace

extern constexpr Architecture kLlama4{
    .name = "Llama4ForCausalLM",
    .model_type = "llama4_text",
    .tensors = kLlama4Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_llama4_config,
};

}  // namespace lathe::engine
