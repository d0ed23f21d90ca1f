// SPDX-License-Identifier: Apache-2.0
// The parts that BERT and its successors share. Source: Devlin et al. 2018; Hugging Face transformers, BertConfig.
#pragma once

#include "engine/model/standard_config.h"

namespace lathe::engine {

inline constexpr std::array kBertTensors = {
    TensorName{WeightRole::embedding, "embeddings.word_embeddings.weight"},
    TensorName{WeightRole::positions, "embeddings.position_embeddings.weight"},
    TensorName{WeightRole::token_types, "embeddings.token_type_embeddings.weight"},
    TensorName{WeightRole::embedding_norm, "embeddings.LayerNorm.weight"},
    TensorName{WeightRole::embedding_norm_bias, "embeddings.LayerNorm.bias"},
    TensorName{WeightRole::q, "encoder.layer.{}.attention.self.query.weight"},
    TensorName{WeightRole::q_bias, "encoder.layer.{}.attention.self.query.bias"},
    TensorName{WeightRole::k, "encoder.layer.{}.attention.self.key.weight"},
    TensorName{WeightRole::k_bias, "encoder.layer.{}.attention.self.key.bias"},
    TensorName{WeightRole::v, "encoder.layer.{}.attention.self.value.weight"},
    TensorName{WeightRole::v_bias, "encoder.layer.{}.attention.self.value.bias"},
    TensorName{WeightRole::o, "encoder.layer.{}.attention.output.dense.weight"},
    TensorName{WeightRole::o_bias, "encoder.layer.{}.attention.output.dense.bias"},
    TensorName{WeightRole::attention_norm, "encoder.layer.{}.attention.output.LayerNorm.weight"},
    TensorName{WeightRole::attention_norm_bias, "encoder.layer.{}.attention.output.LayerNorm.bias"},
    TensorName{WeightRole::up, "encoder.layer.{}.intermediate.dense.weight"},
    TensorName{WeightRole::up_bias, "encoder.layer.{}.intermediate.dense.bias"},
    TensorName{WeightRole::down, "encoder.layer.{}.output.dense.weight"},
    TensorName{WeightRole::down_bias, "encoder.layer.{}.output.dense.bias"},
    TensorName{WeightRole::mlp_norm, "encoder.layer.{}.output.LayerNorm.weight"},
    TensorName{WeightRole::mlp_norm_bias, "encoder.layer.{}.output.LayerNorm.bias"},
};

/// Position ids, which follow from the shape, and the pooler after the first token, which pooling does not use.
inline constexpr std::array<std::string_view, 3> kBertIgnored = {"embeddings.position_ids", "pooler.dense.weight",
                                                                 "pooler.dense.bias"};

/// Reads an encoder with norms on the residual stream and learned positions, the first at row `position_offset` of the
/// table.
void read_bert_parts(ConfigReader& reader, ModelConfig& config, std::int64_t position_offset);

}  // namespace lathe::engine
