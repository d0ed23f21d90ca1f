// SPDX-License-Identifier: Apache-2.0
// Mistral; Ministral 8B, whose layer_types say which layers have a window. Source: Jiang et al. 2023; Hugging Face
// transformers, MistralConfig and MinistralConfig.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

void read_mistral_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config, {.n_kv_heads = 8, .n_positions = 131072});
  // An absent sliding_window means the one of the first release; an explicit null means none.
  const std::int64_t window =
      reader.is_null("sliding_window") ? 0 : reader.integer_or("sliding_window", 4096, 1, kMaxPositions);
  read_windows(reader, config, window, [&](std::int64_t) { return window > 0; });
}

constexpr std::array<std::string_view, 2> kMistralOtherNames = {"MinistralForCausalLM", "ministral"};

}  // namespace

extern constexpr Architecture kMistral{
    .name = "MistralForCausalLM",
    .model_type = "mistral",
    .tensors = kLlamaTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_mistral_config,
    .other_names = kMistralOtherNames,
};

}  // namespace lathe::engine
