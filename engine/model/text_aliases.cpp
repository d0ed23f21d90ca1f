// SPDX-License-Identifier: Apache-2.0
#include "engine/model/text_aliases.h"

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

constexpr std::string_view kQwen2Vl = R"({"vocab_size": 152064, "hidden_size": 8192, "intermediate_size": 29568,
    "num_hidden_layers": 80, "num_attention_heads": 64, "num_key_value_heads": 8, "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-5, "max_window_layers": 80, "rope_theta": 1e6})";
constexpr std::string_view kQwen2Omni = R"({"vocab_size": 152064, "hidden_size": 3584, "intermediate_size": 18944,
    "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "sliding_window": 32768,
    "rope_theta": 1e6})";
constexpr std::string_view kQwen3Vl = R"({"vocab_size": 151936, "hidden_size": 4096, "intermediate_size": 22016,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32, "max_position_embeddings": 128000,
    "rope_theta": 5e5})";
constexpr std::string_view kQwen3VlMoe = R"({"vocab_size": 151936, "hidden_size": 2048, "intermediate_size": 5632,
    "num_hidden_layers": 24, "num_attention_heads": 16, "num_key_value_heads": 16, "max_position_embeddings": 128000,
    "moe_intermediate_size": 1408, "num_experts": 60, "num_experts_per_tok": 4, "norm_topk_prob": true, "rope_theta": 5e5})";
constexpr std::string_view kQwen3Omni = R"({"vocab_size": 3584, "hidden_size": 2048, "intermediate_size": 18944,
    "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4, "moe_intermediate_size": 768,
    "norm_topk_prob": true, "rope_theta": 1e6})";
constexpr std::string_view kGlm4V = R"({"vocab_size": 151552, "hidden_size": 4096, "intermediate_size": 13696,
    "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 2, "max_position_embeddings": 32768,
    "rms_norm_eps": 1e-5, "head_dim": null, "partial_rotary_factor": 1.0})";
constexpr std::string_view kGlm4VMoe = R"({"vocab_size": 151424, "hidden_size": 4096, "intermediate_size": 10944,
    "num_hidden_layers": 46, "num_attention_heads": 96, "num_key_value_heads": 8, "max_position_embeddings": 65536,
    "moe_intermediate_size": 1408, "attention_bias": true})";

// THE TABLE of aliases. Rotary sections of images and video (mrope_section) are those of plain RoPE for text.
// Source: Hugging Face transformers, the text configs of the wholes; of kimi_k2, the files that moonshotai published.
constexpr std::array kAliases = {
    TextAlias{"qwen2_vl", "qwen2", kQwen2Vl, true},
    TextAlias{"qwen2_vl_text", "qwen2", kQwen2Vl},
    TextAlias{"qwen2_5_vl", "qwen2", kQwen2Vl, true},
    TextAlias{"qwen2_5_vl_text", "qwen2", kQwen2Vl},
    TextAlias{"qwen2_5_omni_text", "qwen2", kQwen2Omni},
    TextAlias{"qwen3_vl_text", "qwen3", kQwen3Vl},
    TextAlias{"qwen3_vl_moe_text", "qwen3_moe", kQwen3VlMoe},
    TextAlias{"qwen3_omni_moe_text", "qwen3_moe", kQwen3Omni},
    TextAlias{"glm4v_text", "glm4", kGlm4V},
    TextAlias{"glm4v_moe_text", "glm4_moe", kGlm4VMoe},
    TextAlias{"kimi_k2", "deepseek_v3", "{}"},
};

}  // namespace

std::span<const TextAlias> text_aliases() { return kAliases; }

const TextAlias* find_text_alias(std::string_view model_type) {
  const auto* const found =
      std::find_if(kAliases.begin(), kAliases.end(), [&](const TextAlias& row) { return row.model_type == model_type; });
  return found != kAliases.end() ? found : nullptr;
}

}  // namespace lathe::engine
