// SPDX-License-Identifier: Apache-2.0
#include "engine/options/option_aliases.h"

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

constexpr std::array kOptionAliases = {
    OptionAlias{"kv_cache_dtype", "fp8", "fp8_e4m3", "vLLM"},
    OptionAlias{"kv_cache_dtype", "int8_per_token_head", "int8", "vLLM"},
    OptionAlias{"kv_cache_dtype", "fp8_e4m3fn", "fp8_e4m3", "TGI"},
    OptionAlias{"kv_cache_dtype", "triton_int8kv", "int8", "LightLLM"},
    OptionAlias{"kv_cache_dtype", "ppl_int8kv", "int8", "LightLLM"},
    OptionAlias{"kv_cache_dtype", "triton_fp8kv", "fp8_e4m3", "LightLLM"},
};

}  // namespace

std::span<const OptionAlias> option_aliases() { return kOptionAliases; }

std::string_view our_name_of(std::string_view option, std::string_view value) {
  const auto* const found = std::find_if(kOptionAliases.begin(), kOptionAliases.end(), [&](const OptionAlias& alias) {
    return alias.option == option && alias.name == value;
  });
  return found != kOptionAliases.end() ? found->value : value;
}

}  // namespace lathe::engine
