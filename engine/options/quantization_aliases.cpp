// SPDX-License-Identifier: Apache-2.0
#include "engine/options/quantization_aliases.h"

#include <algorithm>
#include <array>

#include "engine/load/quantization_scheme.h"
#include "engine/model/weight_storage.h"

namespace lathe::engine {
namespace {

// "bitsandbytes" alone has vLLM's meaning, NF4 at load (TGI means LLM.int8() by it). It leaves bnb_4bit_quant_type
// unchanged, whose default is NF4. "ao-int8wo", "eetq" and "int8_per_channel_weight_only" have one scale per output and do
// not quantize activations: int8_g128 has finer scales and rounds activations as finely, like int4_g128 for "ao-int4wo-128".
// dynamic_int8 has the same codes, but one scale for all activations of a token.
constexpr std::array kQuantizationAliases = {
    QuantizationAlias{.name = "bitsandbytes", .quantization = "bitsandbytes_4bit", .source = "vLLM"},
    QuantizationAlias{
        .name = "bitsandbytes-nf4", .quantization = "bitsandbytes_4bit", .bnb_4bit_quant_type = "nf4", .source = "TGI"},
    QuantizationAlias{
        .name = "bitsandbytes-fp4", .quantization = "bitsandbytes_4bit", .bnb_4bit_quant_type = "fp4", .source = "TGI"},
    QuantizationAlias{.name = "bitsandbytes4", .quantization = "bitsandbytes_4bit", .source = "DJL"},
    QuantizationAlias{.name = "bitsandbytes8", .quantization = "bitsandbytes_8bit", .source = "DJL"},
    QuantizationAlias{.name = "load_in_4bit", .quantization = "bitsandbytes_4bit", .source = "transformers"},
    QuantizationAlias{.name = "load_in_8bit", .quantization = "bitsandbytes_8bit", .source = "transformers"},
    QuantizationAlias{.name = "None", .quantization = "none", .source = "LLM-API"},
    QuantizationAlias{.name = "4bit", .quantization = "bitsandbytes_4bit", .source = "LLM-API"},
    QuantizationAlias{.name = "8bit", .quantization = "bitsandbytes_8bit", .source = "LLM-API"},
    QuantizationAlias{.name = "fbgemm_fp8", .quantization = "fp8", .source = "vLLM"},
    QuantizationAlias{.name = "ptpc_fp8", .quantization = "fp8", .source = "vLLM"},
    QuantizationAlias{.name = "fp8_per_tensor", .quantization = "fp8", .source = "vLLM"},
    QuantizationAlias{.name = "int8_per_channel_weight_only", .quantization = "int8_g128", .source = "vLLM"},
    QuantizationAlias{.name = "eetq", .quantization = "int8_g128", .source = "TGI"},
    QuantizationAlias{.name = "ao-int8wo", .quantization = "int8_g128", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-fp8w8a16", .quantization = "fp8_weight_only", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-32", .quantization = "int4_g32", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-64", .quantization = "int4_g64", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-128", .quantization = "int4_g128", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-256", .quantization = "int4_g128", .source = "LightLLM"},
};

constexpr std::string_view kUnreadStorage = "a format of stored checkpoints";

constexpr std::array kForeign = {
    ForeignQuantization{"experts_int8", "vLLM", "8 bits for the matrices of experts only", "int8_g128"},
    ForeignQuantization{"fp8_per_block", "vLLM", "e4m3 with a scale for each block of 128 x 128 weights", "fp8"},
    ForeignQuantization{"mxfp8", "vLLM", "e4m3 with a power of two as the scale of each block of 32 weights", "fp8"},
    ForeignQuantization{"ao-fp6w6a16", "LightLLM", "floating-point weights of 6 bits", "fp8_weight_only"},
    ForeignQuantization{"exl2", "TGI", kUnreadStorage, ""},
    ForeignQuantization{"modelopt", "vLLM", kUnreadStorage, ""},
    ForeignQuantization{"modelopt_fp4", "vLLM", kUnreadStorage, ""},
    ForeignQuantization{"quark", "vLLM", kUnreadStorage, ""},
    ForeignQuantization{"torchao", "vLLM", kUnreadStorage, ""},
    ForeignQuantization{"inc", "vLLM", kUnreadStorage, ""},
};

// vLLM's names for kernels that read the schemes of the table, and for GGUF files.
constexpr std::array<std::string_view, 6> kReaders = {"gptq_marlin", "auto_gptq", "marlin",
                                                      "awq_marlin",  "gguf",      "moe_wna16"};

}  // namespace

std::span<const QuantizationAlias> quantization_aliases() { return kQuantizationAliases; }

std::vector<std::string_view> stored_schemes() {
  std::vector<std::string_view> names(kReaders.begin(), kReaders.end());
  for (const QuantizationScheme* scheme : quantization_schemes()) {
    const bool is_asked_for =
        find_quantization(scheme->method) != nullptr || find_quantization_alias(scheme->method) != nullptr;
    if (!is_asked_for) names.push_back(scheme->method);
  }
  return names;
}

const QuantizationAlias* find_quantization_alias(std::string_view name) {
  const auto* const found = std::find_if(kQuantizationAliases.begin(), kQuantizationAliases.end(),
                                         [&](const QuantizationAlias& alias) { return alias.name == name; });
  return found != kQuantizationAliases.end() ? found : nullptr;
}

std::span<const ForeignQuantization> foreign_quantizations() { return kForeign; }

const ForeignQuantization* find_foreign_quantization(std::string_view name) {
  const auto* const found =
      std::find_if(kForeign.begin(), kForeign.end(), [&](const ForeignQuantization& one) { return one.name == name; });
  return found != kForeign.end() ? found : nullptr;
}

}  // namespace lathe::engine
