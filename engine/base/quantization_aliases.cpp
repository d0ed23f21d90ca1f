// SPDX-License-Identifier: Apache-2.0
#include "engine/base/quantization_aliases.h"

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

// "bitsandbytes" alone is vLLM's, which loads NF4 in flight; TGI means LLM.int8() by it. It names no codes, so that it
// leaves those that were asked for: unasked they are NF4 anyway.
constexpr std::array kAliases = {
    QuantizationAlias{.name = "bitsandbytes", .quantization = "bitsandbytes_4bit", .source = "vLLM"},
    QuantizationAlias{
        .name = "bitsandbytes-nf4", .quantization = "bitsandbytes_4bit", .bnb_4bit_quant_type = "nf4", .source = "TGI"},
    QuantizationAlias{
        .name = "bitsandbytes-fp4", .quantization = "bitsandbytes_4bit", .bnb_4bit_quant_type = "fp4", .source = "TGI"},
    QuantizationAlias{.name = "bitsandbytes4", .quantization = "bitsandbytes_4bit", .source = "DJL"},
    QuantizationAlias{.name = "bitsandbytes8", .quantization = "bitsandbytes_8bit", .source = "DJL"},
    QuantizationAlias{.name = "load_in_4bit", .quantization = "bitsandbytes_4bit", .source = "transformers"},
    QuantizationAlias{.name = "load_in_8bit", .quantization = "bitsandbytes_8bit", .source = "transformers"},
    QuantizationAlias{.name = "fbgemm_fp8", .quantization = "fp8", .source = "vLLM"},
    QuantizationAlias{.name = "ao-fp8w8a16", .quantization = "fp8_weight_only", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-32", .quantization = "int4_g32", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-64", .quantization = "int4_g64", .source = "LightLLM"},
    QuantizationAlias{.name = "ao-int4wo-128", .quantization = "int4_g128", .source = "LightLLM"},
};

// With vLLM's names for kernels that read them.
constexpr std::array<std::string_view, 7> kStoredSchemes = {"gptq", "gptq_marlin", "awq", "awq_marlin", "compressed-tensors",
                                                            "gguf", "mxfp4"};

}  // namespace

std::span<const QuantizationAlias> quantization_aliases() { return kAliases; }

std::span<const std::string_view> stored_schemes() { return kStoredSchemes; }

const QuantizationAlias* find_quantization_alias(std::string_view name) {
  const auto* const found =
      std::find_if(kAliases.begin(), kAliases.end(), [&](const QuantizationAlias& alias) { return alias.name == name; });
  return found != kAliases.end() ? found : nullptr;
}

}  // namespace lathe::engine
