// SPDX-License-Identifier: Apache-2.0
// The parts that all Gemma families share. Source: Hugging Face transformers, GemmaConfig, Gemma2Config, Gemma3TextConfig.
#pragma once

#include <array>

#include "engine/model/standard_config.h"

namespace lathe::engine {

/// Names of norms before and after attention and the MLP.
inline constexpr std::array kGemma2Norms = {
    TensorName{WeightRole::attention_norm, "layers.{}.input_layernorm.weight"},
    TensorName{WeightRole::attention_out_norm, "layers.{}.post_attention_layernorm.weight"},
    TensorName{WeightRole::mlp_norm, "layers.{}.pre_feedforward_layernorm.weight"},
    TensorName{WeightRole::mlp_out_norm, "layers.{}.post_feedforward_layernorm.weight"},
};
inline constexpr auto kGemma2Tensors = joined(kLlamaEnds, kGemma2Norms, kLlamaAttention, kLlamaMlp);

/// Reads norms with weight 1 + w, embeddings scaled by sqrt(H), the activation, and biases of attention.
void read_gemma_parts(ConfigReader& reader, ModelConfig& config);

struct SoftCaps {
  double attention = 0, logits = 0;
};
/// Reads the scale of the scores and the soft caps of scores and logits; `usual` where the file gives none.
void read_gemma_scores(ConfigReader& reader, ModelConfig& config, const SoftCaps& usual);

/// Reads RoPE of Gemma 3 and 3n: of the layers that see the whole context, and of those with a window. Older files have the
/// theta of the latter in a separate key, without scaling. Requires: the windows are read.
void read_gemma_ropes(ConfigReader& reader, ModelConfig& config);

/// Reads num_kv_shared_layers: the last layers use K and V of the last layer before them that has the same window. Requires:
/// windows and heads of the layers are read.
void share_last_kv(ConfigReader& reader, ModelConfig& config, std::int64_t usual);

/// Reads the sizes of per-layer embeddings.
void read_per_layer(ConfigReader& reader, ModelConfig& config);

}  // namespace lathe::engine
