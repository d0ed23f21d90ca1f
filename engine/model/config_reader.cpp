// SPDX-License-Identifier: Apache-2.0
#include "engine/model/config_reader.h"

#include <fmt/format.h>

#include <array>

namespace lathe::engine {

namespace {

/// A setting of some model family that changes the computation unless it has its neutral value.
struct ChangingSetting {
  std::string_view key, meaning;
  double neutral = 0;
};

// Source: the configurations of the families in Hugging Face transformers. A family that supports one of these settings
// reads its key; for all other families an active setting is a reason to refuse.
constexpr std::array kChangingSettings = {
    ChangingSetting{"sliding_window", "sliding-window attention"},
    ChangingSetting{"attn_logit_softcapping", "soft-capped attention scores"},
    ChangingSetting{"final_logit_softcapping", "soft-capped logits"},
    ChangingSetting{"query_pre_attn_scalar", "another attention scale"},
    ChangingSetting{"attention_multiplier", "another attention scale"},
    ChangingSetting{"clip_qkv", "clipped Q, K and V"},
    ChangingSetting{"use_qk_norm", "normalised Q and K"},
    ChangingSetting{"qk_layernorm", "normalised Q and K"},
    ChangingSetting{"alibi", "ALiBi positions"},
    ChangingSetting{"partial_rotary_factor", "partial RoPE", 1},
    ChangingSetting{"rotary_pct", "partial RoPE", 1},
    ChangingSetting{"rope_interleaved", "interleaved RoPE"},
    ChangingSetting{"no_rope_layers", "layers without RoPE"},
    ChangingSetting{"no_rope_layer_interval", "layers without RoPE"},
    ChangingSetting{"rope_local_base_freq", "a second RoPE"},
    ChangingSetting{"rope_parameters.llama_4_scaling_beta", "queries that are scaled by their position"},
    ChangingSetting{"rope_scaling.llama_4_scaling_beta", "queries that are scaled by their position"},
    ChangingSetting{"use_bidirectional_attention", "attention to later tokens"},
    ChangingSetting{"q_lora_rank", "latent attention"},
    ChangingSetting{"kv_lora_rank", "latent attention"},
    ChangingSetting{"num_local_experts", "a mixture of experts", 1},
    ChangingSetting{"num_experts", "a mixture of experts", 1},
    ChangingSetting{"n_routed_experts", "a mixture of experts", 1},
    ChangingSetting{"use_parallel_residual", "parallel attention and MLP"},
    ChangingSetting{"parallel_attn", "parallel attention and MLP"},
    ChangingSetting{"embedding_multiplier", "scaled embeddings", 1},
    ChangingSetting{"residual_multiplier", "a scaled residual stream", 1},
    ChangingSetting{"logits_scaling", "scaled logits", 1},
    ChangingSetting{"logit_scale", "scaled logits", 1},
    ChangingSetting{"is_encoder_decoder", "an encoder"},
};

bool is_neutral(const Json& value, double neutral) {
  if (value.is_null()) return true;
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == neutral || value.get<double>() == 0;
  return (value.is_array() || value.is_object()) && value.empty();
}

}  // namespace

bool ConfigReader::is_list(std::string_view key) const {
  const Json* const value = find(key);
  return value != nullptr && value->is_array();
}

bool ConfigReader::switch_or(std::string_view key, bool fallback) {
  const Json* const value = find(key);
  return value != nullptr && value->is_number() ? number_or(key, 0, -1e9, 1e9) != 0 : boolean_or(key, fallback);
}

void ConfigReader::note_unread_knobs() {
  for (const ChangingSetting& knob : kChangingSettings) {
    const Json* value = find(knob.key);
    if (value == nullptr || was_read(knob.key) || is_neutral(*value, knob.neutral)) continue;
    unmet(fmt::format("{} ({})", knob.meaning, knob.key));
  }
}

}  // namespace lathe::engine
