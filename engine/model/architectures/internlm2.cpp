// SPDX-License-Identifier: Apache-2.0
// InternLM 2 and 2.5: Llama with Q, K and V of each KV group in one tensor. Source: Cai et al. 2024.
#include "engine/model/standard_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kInternLm2Tensors = {
    TensorName{WeightRole::embedding, "tok_embeddings.weight"},
    TensorName{WeightRole::attention_norm, "layers.{}.attention_norm.weight"},
    TensorName{WeightRole::qkv, "layers.{}.attention.wqkv.weight", TensorLayout::kv_groups},
    TensorName{WeightRole::qkv_bias, "layers.{}.attention.wqkv.bias", TensorLayout::kv_groups},
    // Names for GGUF files, which have separate tensors for Q, K and V.
    TensorName{WeightRole::q, "layers.{}.attention.wq.weight"},
    TensorName{WeightRole::k, "layers.{}.attention.wk.weight"},
    TensorName{WeightRole::v, "layers.{}.attention.wv.weight"},
    TensorName{WeightRole::q_bias, "layers.{}.attention.wq.bias"},
    TensorName{WeightRole::k_bias, "layers.{}.attention.wk.bias"},
    TensorName{WeightRole::v_bias, "layers.{}.attention.wv.bias"},
    TensorName{WeightRole::o, "layers.{}.attention.wo.weight"},
    TensorName{WeightRole::o_bias, "layers.{}.attention.wo.bias"},
    TensorName{WeightRole::mlp_norm, "layers.{}.ffn_norm.weight"},
    TensorName{WeightRole::gate, "layers.{}.feed_forward.w1.weight"},
    TensorName{WeightRole::up, "layers.{}.feed_forward.w3.weight"},
    TensorName{WeightRole::down, "layers.{}.feed_forward.w2.weight"},
    TensorName{WeightRole::final_norm, "norm.weight"},
    TensorName{WeightRole::head, "output.weight"},
};

void read_internlm2_config(ConfigReader& reader, ModelConfig& config) {
  read_llama_parts(reader, config);
  config.qkv_bias = config.attention_out_bias = reader.boolean_or("bias", true);
}

}  // namespace

extern constexpr Architecture kInternLm2{
    .name = "InternLM2ForCausalLM",
    .model_type = "internlm2",
    .tensors = kInternLm2Tensors,
    .ignored_suffixes = kSavedAngles,
    .read_config = read_internlm2_config,
};

}  // namespace lathe::engine
