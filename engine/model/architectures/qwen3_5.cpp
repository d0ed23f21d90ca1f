// SPDX-License-Identifier: Apache-2.0
// Qwen 3.5, 3.6 and 3.8: three of four layers are gated delta nets. The layers for multi-token prediction are left out.
// Source: Hugging Face transformers, Qwen3_5TextConfig.
#include "engine/model/qwen3_next_config.h"

namespace lathe::engine {
namespace {

constexpr auto kQwen35Tensors =
    joined(kLlamaEnds, kLlamaNorms, kLlamaAttention, kLlamaMlp, kDeltaNetTensors, kDeltaNetQkv, kDeltaNetRates);
constexpr std::array<std::string_view, 1> kQwen35OtherNames = {"qwen3_5"};

void read_qwen3_5_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.n_kv_heads = 4, .head_dim = 256, .n_positions = 32768});
  read_qwen3_next_parts(reader, config);
}

}  // namespace

extern constexpr Architecture kQwen35{
    .name = "Qwen3_5ForCausalLM",
    .model_type = "qwen3_5_text",
    .tensors = kQwen35Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_qwen3_5_config,
    .other_names = kQwen35OtherNames,
};

}  // namespace lathe::engine
