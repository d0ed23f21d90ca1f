// SPDX-License-Identifier: Apache-2.0
// Gemma 1. Source: Gemma Team 2024; Hugging Face transformers, GemmaConfig.
#include "engine/model/gemma_config.h"
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_gemma_config(ConfigReader& reader, ModelConfig& config) {
  read_sizes(reader, config, {.head_dim = 256, .n_positions = 8192, .tied_embeddings = true});
  read_gemma_parts(reader, config);
  read_whole_rope(reader, config);
}

}  // namespace

extern constexpr Architecture kGemma{
    .name = "GemmaForCausalLM",
    .model_type = "gemma",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_gemma_config,
};

}  // namespace lathe::engine
