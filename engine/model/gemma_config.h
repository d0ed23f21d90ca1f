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

}  // namespace lathe::engine
