// SPDX-License-Identifier: Apache-2.0
// ERNIE 4.5: Llama with adjacent values rotated together. Source: Baidu 2025; Hugging Face transformers, Ernie4_5Config.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_ernie_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 2, .head_dim = 128, .n_positions = 131072, .tied_embeddings = true});
  read_rms_norm(reader, config, 1e-5);
  config.ropes = {read_rope(reader, {.theta = 5e5, .rotary_dim = config.head_dim, .style = kernels::RopeStyle::interleaved},
                            config.max_position_embeddings)};
  config.activation = read_activation(reader, "hidden_act", "silu");
  config.qkv_bias = config.attention_out_bias = config.mlp_bias = reader.boolean_or("use_bias", false);
}

// The class of the code that the first files came with.
constexpr std::array<std::string_view, 1> kErnieOtherNames = {"Ernie4_5_ForCausalLM"};

}  // namespace

extern constexpr Architecture kErnie45{
    .name = "Ernie4_5ForCausalLM",
    .model_type = "ernie4_5",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_ernie_config,
    .other_names = kErnieOtherNames,
};

}  // namespace lathe::engine
