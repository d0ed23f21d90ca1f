// SPDX-License-Identifier: Apache-2.0
// Sizes are those of the models' config.json on the Hugging Face hub, except the vocabulary of llama-8b, which is that of
// Llama 2.
#include "engine/api/model_shapes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace lathe::engine {
namespace {

constexpr std::string_view kPrefix = "shape:";

// THE TABLE of shapes.
constexpr std::array kShapes = {
    ModelShape{"llama-8b", R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 32000,
  "hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 131072, "rope_theta": 500000.0, "tie_word_embeddings": false,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}})"},
    ModelShape{"llama-8b-128k", R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 128256,
  "hidden_size": 4096, "num_hidden_layers": 32, "intermediate_size": 14336,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 131072, "rope_theta": 500000.0, "tie_word_embeddings": false,
  "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}})"},
    ModelShape{"llama-1b", R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 128256,
  "hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192,
  "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 64, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 131072, "rope_theta": 500000.0, "tie_word_embeddings": true,
  "rope_scaling": {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}})"},
    ModelShape{"qwen2.5-0.5b", R"({
  "architectures": ["Qwen2ForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 151936,
  "hidden_size": 896, "num_hidden_layers": 24, "intermediate_size": 4864,
  "num_attention_heads": 14, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-06,
  "max_position_embeddings": 32768, "rope_theta": 1000000.0, "tie_word_embeddings": true,
  "use_sliding_window": false})"},
    ModelShape{"qwen3-30b-a3b", R"({
  "architectures": ["Qwen3MoeForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 151936,
  "hidden_size": 2048, "num_hidden_layers": 48, "intermediate_size": 6144,
  "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128, "hidden_act": "silu", "rms_norm_eps": 1e-06,
  "num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": true,
  "decoder_sparse_step": 1, "mlp_only_layers": [], "attention_bias": false, "use_sliding_window": false,
  "max_position_embeddings": 40960, "rope_theta": 1000000.0, "tie_word_embeddings": false})"},
    // Less than a few megabytes, to try commands out.
    ModelShape{"tiny", R"({
  "architectures": ["LlamaForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 512,
  "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 256,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "hidden_act": "silu", "rms_norm_eps": 1e-05,
  "max_position_embeddings": 16384, "rope_theta": 10000.0, "tie_word_embeddings": false})"},
    ModelShape{"tiny-moe", R"({
  "architectures": ["Qwen3MoeForCausalLM"], "torch_dtype": "bfloat16", "vocab_size": 512,
  "hidden_size": 128, "num_hidden_layers": 2, "intermediate_size": 256,
  "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32, "hidden_act": "silu", "rms_norm_eps": 1e-06,
  "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "norm_topk_prob": true,
  "decoder_sparse_step": 1, "mlp_only_layers": [], "attention_bias": false, "use_sliding_window": false,
  "max_position_embeddings": 16384, "rope_theta": 10000.0, "tie_word_embeddings": false})"},
};

}  // namespace

std::span<const ModelShape> model_shapes() { return kShapes; }

std::vector<std::string_view> model_shape_names() {
  std::vector<std::string_view> names;
  for (const ModelShape& shape : kShapes) names.push_back(shape.name);
  return names;
}

std::string shape_path(std::string_view name) { return fmt::format("{}{}", kPrefix, name); }

bool is_shape_path(std::string_view path) { return path.starts_with(kPrefix); }

Result<const ModelShape*> find_shape(std::string_view path) {
  const std::string_view name = is_shape_path(path) ? path.substr(kPrefix.size()) : path;
  const auto found =
      std::find_if(kShapes.begin(), kShapes.end(), [&](const ModelShape& shape) { return shape.name == name; });
  if (found != kShapes.end()) return &*found;
  return fail(ErrorCode::not_found,
              fmt::format("there is no shape '{:.64}'; the shapes are {}", name, fmt::join(model_shape_names(), ", ")));
}

}  // namespace lathe::engine
