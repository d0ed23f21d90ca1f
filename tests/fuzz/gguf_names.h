// SPDX-License-Identifier: Apache-2.0
// Names that readers of GGUF files look for.
#pragma once

#include <string_view>

namespace lathe::fuzz {

inline constexpr std::string_view kGgufFamilies[] = {"llama", "qwen2",     "qwen3moe", "gemma2", "gemma3",
                                                     "phi3",  "command-r", "exaone4",  "gemma4"};
/// Behind the name of the family and a dot.
inline constexpr std::string_view kGgufFamilyKeys[] = {"context_length",
                                                       "embedding_length",
                                                       "block_count",
                                                       "feed_forward_length",
                                                       "attention.head_count",
                                                       "attention.head_count_kv",
                                                       "attention.key_length",
                                                       "attention.layer_norm_rms_epsilon",
                                                       "attention.sliding_window",
                                                       "attention.sliding_window_pattern",
                                                       "rope.dimension_count",
                                                       "rope.freq_base",
                                                       "rope.scaling.type",
                                                       "rope.scaling.factor",
                                                       "expert_count",
                                                       "expert_used_count",
                                                       "expert_feed_forward_length"};
inline constexpr std::string_view kGgufKeys[] = {
    "general.alignment",         "split.count",           "tokenizer.ggml.model",
    "tokenizer.ggml.pre",        "tokenizer.ggml.tokens", "tokenizer.ggml.scores",
    "tokenizer.ggml.token_type", "tokenizer.ggml.merges", "tokenizer.ggml.bos_token_id"};
inline constexpr std::string_view kGgufTensors[] = {
    "token_embd.weight",        "output.weight",          "output_norm.weight",         "blk.0.attn_norm.weight",
    "blk.0.attn_q.weight",      "blk.0.attn_k.weight",    "blk.0.ffn_gate_exps.weight", "rope_freqs.weight",
    "rope_factors_long.weight", "blk.0.attn_output.bias", "rope_factors_short.weight",  "blk.0.attn_q_norm.weight"};

}  // namespace lathe::fuzz
