// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "engine/api/options.h"
#include "engine/run/open_backend.h"

namespace lathe::engine {
namespace {

bool is_4bit(const EngineOptions& options) { return options.quantization == "bitsandbytes_4bit"; }
bool is_smooth(const EngineOptions& options) { return options.quantization == "smoothquant"; }
bool is_dynamic(const EngineOptions& options) { return options.policy == "dynamic"; }
bool has_groups(const EngineOptions& options) {
  return options.quantization.starts_with("int8_g") || options.quantization.starts_with("int4_g");
}
bool quantizes_head(const EngineOptions& options) {
  return options.quantization != "none" && !is_smooth(options) && !options.quantization.starts_with("bitsandbytes");
}

struct Condition {
  std::string_view option;
  bool (*holds)(const EngineOptions& options);
  std::string_view otherwise;
};

constexpr std::string_view kOf4bit = "it applies only to quantization bitsandbytes_4bit";
constexpr std::string_view kOfSmooth = "it applies only to quantization smoothquant";
constexpr std::string_view kOfDynamic = "it applies only to policy dynamic";

// THE TABLE of options that only have an effect if other options have certain values.
constexpr std::array kConditions = {
    Condition{"bnb_4bit_quant_type", is_4bit, kOf4bit},
    Condition{"bnb_4bit_use_double_quant", is_4bit, kOf4bit},
    Condition{"bnb_4bit_compute_dtype", is_4bit, kOf4bit},
    Condition{"quantization_zero_point", has_groups, "it applies only to quantization int8_g32 to int4_g128"},
    Condition{"smoothquant_alpha", is_smooth, kOfSmooth},
    Condition{"smoothquant_per_token", is_smooth, kOfSmooth},
    Condition{"smoothquant_per_channel", is_smooth, kOfSmooth},
    Condition{"keep_head", quantizes_head, "the output head is not quantized anyway"},
    Condition{"preferred_batch_size", is_dynamic, kOfDynamic},
    Condition{"max_batch_delay_ms", is_dynamic, kOfDynamic},
    Condition{"kv_cache_memory_bytes", [](const EngineOptions& options) { return options.num_gpu_blocks_override == 0; },
              "num_gpu_blocks_override sets the number of blocks"},
    Condition{"gpu_memory_utilization",
              [](const EngineOptions& options) {
                return has_own_memory(options.device) && options.num_gpu_blocks_override == 0 &&
                       options.kv_cache_memory_bytes == 0;
              },
              "it sizes the KV cache of a CUDA device where kv_cache_memory_bytes and num_gpu_blocks_override do not"},
    Condition{"state_snapshot_memory_bytes", [](const EngineOptions& options) { return options.enable_prefix_caching; },
              "enable_prefix_caching is off"},
    Condition{"tool_call_parser", [](const EngineOptions& options) { return options.enable_auto_tool_choice; },
              "enable_auto_tool_choice is off"},
};

}  // namespace

std::string_view why_idle(const EngineOptions& options, std::string_view name) {
  const auto* const found = std::find_if(kConditions.begin(), kConditions.end(),
                                         [&](const Condition& condition) { return condition.option == name; });
  return found == kConditions.end() || found->holds(options) ? std::string_view() : found->otherwise;
}

}  // namespace lathe::engine
