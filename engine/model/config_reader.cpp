// SPDX-License-Identifier: Apache-2.0
#include "engine/model/config_reader.h"

#include <fmt/format.h>

#include <array>

namespace lathe::engine {

namespace {

/// A setting of some model family that changes the computation unless it has its neutral value.
struct Knob {
  std::string_view key, meaning;
  double neutral = 0;
};

// Source: the configurations of the families in Hugging Face transformers. A family that supports one of these settings
// reads its key; for all other families an active setting is a reason to refuse.
constexpr std::array kKnobs = {
    Knob{"sliding_window", "sliding-window attention"},
    Knob{"attn_logit_softcapping", "soft-capped attention scores"},
    Knob{"final_logit_softcapping", "soft-capped logits"},
    Knob{"query_pre_attn_scalar", "another attention scale"},
    Knob{"attention_multiplier", "another attention scale"},
    Knob{"clip_qkv", "clipped Q, K and V"},
    Knob{"use_qk_norm", "normalised Q and K"},
    Knob{"qk_layernorm", "normalised Q and K"},
    Knob{"alibi", "ALiBi positions"},
    Knob{"partial_rotary_factor", "partial RoPE", 1},
    Knob{"rotary_pct", "partial RoPE", 1},
    Knob{"rope_interleaved", "interleaved RoPE"},
    Knob{"no_rope_layers", "layers without RoPE"},
    Knob{"no_rope_layer_interval", "layers without RoPE"},
    Knob{"rope_local_base_freq", "a second RoPE"},
    Knob{"rope_parameters.llama_4_scaling_beta", "queries that are scaled by their position"},
    Knob{"rope_scaling.llama_4_scaling_beta", "queries that are scaled by their position"},
    Knob{"use_bidirectional_attention", "attention to later tokens"},
    Knob{"q_lora_rank", "latent attention"},
    Knob{"kv_lora_rank", "latent attention"},
    Knob{"num_local_experts", "a mixture of experts", 1},
    Knob{"num_experts", "a mixture of experts", 1},
    Knob{"n_routed_experts", "a mixture of experts", 1},
    Knob{"use_parallel_residual", "parallel attention and MLP"},
    Knob{"parallel_attn", "parallel attention and MLP"},
    Knob{"embedding_multiplier", "scaled embeddings", 1},
    Knob{"residual_multiplier", "a scaled residual stream", 1},
    Knob{"logits_scaling", "scaled logits", 1},
    Knob{"logit_scale", "scaled logits", 1},
    Knob{"is_encoder_decoder", "an encoder"},
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
  for (const Knob& knob : kKnobs) {
    const Json* value = find(knob.key);
    if (value == nullptr || was_read(knob.key) || is_neutral(*value, knob.neutral)) continue;
    unmet(fmt::format("{} ({})", knob.meaning, knob.key));
  }
}

}  // namespace lathe::engine
