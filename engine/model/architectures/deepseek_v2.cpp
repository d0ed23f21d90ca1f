// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V2, V2-Lite, V2.5, Coder-V2. Source: DeepSeek-AI 2024; Hugging Face transformers, DeepseekV2Config.
#include <fmt/format.h>

#include "engine/model/deepseek_config.h"

namespace lathe::engine {
namespace {

void read_deepseek_v2_config(ConfigReader& reader, ModelConfig& config) {
  read_deepseek_parts(reader, config, {.n_positions = 2048, .n_experts = 64, .top_k = 6, .n_shared = 2});
  // transformers ignores this key; the family's own code does not.
  if (reader.boolean_or("norm_topk_prob", false)) reader.unmet("expert weights that add up to 1 (norm_topk_prob)");
  const std::string method = reader.text_or("topk_method", "greedy");
  if (method == "group_limited_greedy") {
    read_expert_groups(reader, config, 1, 1);
  } else if (method != "greedy") {
    reader.unmet(fmt::format("experts chosen by '{:.32}' (topk_method; known: greedy, group_limited_greedy)", method));
  }
}

}  // namespace

extern constexpr Architecture kDeepseekV2{
    .name = "DeepseekV2ForCausalLM",
    .model_type = "deepseek_v2",
    .tensors = kDeepseekTensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_deepseek_v2_config,
};

}  // namespace lathe::engine
