// SPDX-License-Identifier: Apache-2.0
#include "engine/model/text_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/json_text.h"
#include "engine/load/wrapped_text.h"
#include "engine/model/text_aliases.h"

namespace lathe::engine {
namespace {

/// Default sizes of a family's class. Defaults of other keys are in the family's own file.
struct ClassSizes {
  std::string_view model_type;
  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads;
};
// Source: Hugging Face transformers, configuration_<family>.py.
constexpr std::array kClassSizes = {
    ClassSizes{"llama", 32000, 4096, 11008, 32, 32},
    ClassSizes{"mistral", 32000, 4096, 14336, 32, 32},
    ClassSizes{"mixtral", 32000, 4096, 14336, 32, 32},
    ClassSizes{"ministral3", 131072, 4096, 14336, 34, 32},
    ClassSizes{"qwen2", 151936, 4096, 22016, 32, 32},
    ClassSizes{"qwen3", 151936, 4096, 22016, 32, 32},
    ClassSizes{"qwen2_moe", 151936, 2048, 5632, 24, 16},
    ClassSizes{"qwen3_moe", 151936, 2048, 6144, 24, 32},
    ClassSizes{"gemma", 256000, 3072, 24576, 28, 16},
    ClassSizes{"gemma2", 256000, 2304, 9216, 26, 8},
    ClassSizes{"gemma3_text", 262208, 2304, 9216, 26, 8},
    ClassSizes{"gemma4_text", 262144, 2304, 9216, 30, 8},
    ClassSizes{"gemma4_unified_text", 262144, 2304, 9216, 30, 8},
    ClassSizes{"gemma3n_text", 262400, 2048, 16384, 35, 8},
    ClassSizes{"phi", 51200, 2048, 8192, 24, 32},
    ClassSizes{"phi3", 32064, 3072, 8192, 32, 32},
    ClassSizes{"cohere", 256000, 8192, 22528, 40, 64},
    ClassSizes{"cohere2", 256000, 8192, 22528, 40, 64},
    ClassSizes{"granite", 32000, 4096, 11008, 32, 32},
    ClassSizes{"smollm3", 128256, 2048, 11008, 36, 16},
    ClassSizes{"glm", 151552, 4096, 13696, 40, 32},
    ClassSizes{"glm4", 151552, 4096, 13696, 40, 32},
    ClassSizes{"olmo2", 50304, 4096, 11008, 32, 32},
    ClassSizes{"stablelm", 50304, 2560, 6912, 32, 32},
    ClassSizes{"starcoder2", 49152, 3072, 12288, 30, 24},
    ClassSizes{"exaone4", 102400, 4096, 16384, 32, 32},
    ClassSizes{"olmo3", 50304, 4096, 11008, 32, 32},
    ClassSizes{"deepseek_v2", 32000, 4096, 11008, 32, 32},
    ClassSizes{"deepseek_v3", 129280, 7168, 18432, 61, 128},
    ClassSizes{"mistral4", 131072, 4096, 12288, 36, 32},
    ClassSizes{"ministral", 32000, 4096, 14336, 32, 32},
    ClassSizes{"glm4_moe", 151552, 4096, 10944, 46, 96},
    ClassSizes{"glm4_moe_lite", 154880, 2048, 10240, 47, 20},
    ClassSizes{"minimax_m2", 200064, 3072, 1536, 62, 48},
    ClassSizes{"llama4_text", 202048, 5120, 8192, 48, 40},
    ClassSizes{"muse_glimmer_text", 202048, 6656, 19968, 52, 32},
    ClassSizes{"qwen3_next", 151936, 2048, 5632, 48, 16},
    ClassSizes{"qwen3_5_text", 248320, 4096, 12288, 32, 16},
    ClassSizes{"qwen3_5_moe_text", 248320, 2048, 512, 40, 16},
    ClassSizes{"lfm2", 65536, 2560, 12288, 32, 32},
    ClassSizes{"lfm2_moe", 65536, 2048, 7168, 32, 32},
};

/// The text family of a larger model whose config does not name it.
struct UsualText {
  std::string_view whole, text;
};
// Source: Hugging Face transformers, sub_configs_defaults of configuration_<whole>.py.
constexpr std::array kUsualTexts = {
    UsualText{"gemma3", "gemma3_text"},
    UsualText{"gemma3n", "gemma3n_text"},
    UsualText{"gemma4", "gemma4_text"},
    UsualText{"gemma4_unified", "gemma4_unified_text"},
    UsualText{"llava", "llama"},
    UsualText{"llava_next", "llama"},
    UsualText{"mistral3", "mistral"},
    UsualText{"aya_vision", "cohere2"},
    UsualText{"idefics2", "mistral"},
    UsualText{"idefics3", "llama"},
    UsualText{"internvl", "qwen2"},
    UsualText{"kimi_k25", "deepseek_v3"},
    UsualText{"llava_onevision", "qwen2"},
    UsualText{"qwen2_audio", "qwen2"},
    UsualText{"qwen2_vl", "qwen2_vl_text"},
    UsualText{"qwen2_5_vl", "qwen2_5_vl_text"},
    UsualText{"lfm2_vl", "lfm2"},
    UsualText{"qwen3_5", "qwen3_5_text"},
    UsualText{"qwen3_5_moe", "qwen3_5_moe_text"},
    UsualText{"qwen3_vl", "qwen3_vl_text"},
    UsualText{"smolvlm", "llama"},
    UsualText{"qwen3_vl_moe", "qwen3_vl_moe_text"},
    UsualText{"voxtral", "llama"},
    UsualText{"llama4", "llama4_text"},
    UsualText{"muse_glimmer", "muse_glimmer_text"},
};

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

/// True if the text has the value of a key, here or where newer files have it.
bool has_value(const Json& text, const std::string& key) {
  if (text.contains(key)) return true;
  if (key == "num_experts") return text.contains("num_local_experts");
  const auto rope = text.find("rope_parameters");
  return key == "rope_theta" && rope != text.end() && rope->is_object() && rope->contains("rope_theta");
}

/// Replaces an alias by the name of its family, and adds the defaults of the alias's class.
void resolve(Json& text, const TextAlias& alias) {
  const Json defaults = Json::parse(alias.defaults);
  for (const auto& [key, value] : defaults.items()) {
    if (!has_value(text, key)) text[key] = value;
  }
  text["model_type"] = alias.family;
  text.erase("architectures");
}

/// The alias of a whole model that has the keys of its text at the top level; null for any other model.
const TextAlias* flat_whole(const Json& config) {
  const TextAlias* const alias = find_text_alias(text_in(config, "model_type"));
  return alias != nullptr && alias->is_whole ? alias : nullptr;
}

}  // namespace

std::string whole_name(const Json& config) {
  if (wrapped_text(config) == nullptr && flat_whole(config) == nullptr) return {};
  const auto list = config.find("architectures");
  const bool has_name = list != config.end() && list->is_array() && !list->empty() && list->front().is_string();
  return has_name ? list->front().get<std::string>() : text_in(config, "model_type");
}

Json text_part(const Json& config) {
  const Json* const part = wrapped_text(config);
  Json text = part != nullptr ? *part : config;
  if (part == nullptr) {
    if (const TextAlias* const alias = flat_whole(config)) resolve(text, *alias);
    return text;
  }
  for (const char* key : {"tie_word_embeddings", "bos_token_id", "eos_token_id", "quantization_config", "auto_map"}) {
    if (config.contains(key) && !text.contains(key)) text[key] = config[key];
  }
  name_family(config, text);
  const TextAlias* const alias = find_text_alias(text_in(text, "model_type"));
  if (alias != nullptr) resolve(text, *alias);
  else fill_sizes(text);
  return text;
}

}  // namespace lathe::engine
