// SPDX-License-Identifier: Apache-2.0
#include "engine/model/text_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lathe::engine {
namespace {

/// Default sizes of a family's class. Defaults of other keys are in the family's own file.
struct ClassSizes {
  std::string_view model_type;
  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
};
// Source: Hugging Face transformers, configuration_<family>.py.
constexpr std::array kClassSizes = {
    ClassSizes{"llama", 32000, 4096, 11008, 32, 32},      ClassSizes{"mistral", 32000, 4096, 14336, 32, 32},
    ClassSizes{"mixtral", 32000, 4096, 14336, 32, 32},    ClassSizes{"ministral3", 131072, 4096, 14336, 34, 32},
    ClassSizes{"qwen2", 151936, 4096, 22016, 32, 32},     ClassSizes{"qwen3", 151936, 4096, 22016, 32, 32},
    ClassSizes{"qwen2_moe", 151936, 2048, 5632, 24, 16},  ClassSizes{"qwen3_moe", 151936, 2048, 6144, 24, 32},
    ClassSizes{"gemma", 256000, 3072, 24576, 28, 16},     ClassSizes{"gemma2", 256000, 2304, 9216, 26, 8},
    ClassSizes{"gemma3_text", 262208, 2304, 9216, 26, 8}, ClassSizes{"phi", 51200, 2048, 8192, 24, 32},
    ClassSizes{"phi3", 32064, 3072, 8192, 32, 32},        ClassSizes{"cohere", 256000, 8192, 22528, 40, 64},
    ClassSizes{"cohere2", 256000, 8192, 22528, 40, 64},   ClassSizes{"granite", 32000, 4096, 11008, 32, 32},
    ClassSizes{"smollm3", 128256, 2048, 11008, 36, 16},   ClassSizes{"glm", 151552, 4096, 13696, 40, 32},
    ClassSizes{"glm4", 151552, 4096, 13696, 40, 32},      ClassSizes{"olmo2", 50304, 4096, 11008, 32, 32},
    ClassSizes{"stablelm", 50304, 2560, 6912, 32, 32},    ClassSizes{"starcoder2", 49152, 3072, 12288, 30, 24},
    ClassSizes{"exaone4", 102400, 4096, 16384, 32, 32},
};

/// The text family of a multimodal model whose text_config does not name it.
struct UsualText {
  std::string_view whole, text;
};
constexpr std::array kUsualTexts = {UsualText{"gemma3", "gemma3_text"}, UsualText{"llava", "llama"},
                                    UsualText{"llava_next", "llama"}, UsualText{"mistral3", "mistral"}};

std::string text_in(const Json& config, const char* key) {
  const auto found = config.find(key);
  return found != config.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void name_family(const Json& whole, Json& text) {
  if (text.contains("model_type") || text.contains("architectures")) return;
  const std::string type = text_in(whole, "model_type");
  const auto* const usual =
      std::find_if(kUsualTexts.begin(), kUsualTexts.end(), [&](const UsualText& row) { return row.whole == type; });
  if (usual != kUsualTexts.end()) text["model_type"] = usual->text;
}

void fill_sizes(Json& text) {
  const std::string type = text_in(text, "model_type");
  const auto* const sizes =
      std::find_if(kClassSizes.begin(), kClassSizes.end(), [&](const ClassSizes& row) { return row.model_type == type; });
  if (sizes == kClassSizes.end()) return;
  const auto fill = [&](const char* key, std::int64_t value) {
    Json& there = text[key];
    if (there.is_null()) there = value;
  };
  fill("vocab_size", sizes->vocab_size);
  fill("hidden_size", sizes->hidden_size);
  fill("intermediate_size", sizes->intermediate_size);
  fill("num_hidden_layers", sizes->num_hidden_layers);
  fill("num_attention_heads", sizes->num_attention_heads);
}

}  // namespace

Json text_part(const Json& config) {
  const auto part = config.find("text_config");
  if (part == config.end() || !part->is_object()) return config;
  Json text = *part;
  for (const char* key : {"tie_word_embeddings", "bos_token_id", "eos_token_id", "quantization_config", "auto_map"}) {
    if (config.contains(key) && !text.contains(key)) text[key] = config[key];
  }
  name_family(config, text);
  fill_sizes(text);
  return text;
}

}  // namespace lathe::engine
