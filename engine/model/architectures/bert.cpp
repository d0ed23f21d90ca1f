// SPDX-License-Identifier: Apache-2.0
// BERT, MiniLM, BGE, E5, GTE: encoders whose hidden states are pooled. Source: Devlin et al. 2018; Hugging Face
// transformers, BertConfig.
#include "engine/model/bert_config.h"

namespace lathe::engine {
namespace {

constexpr std::array kBertPrefixes = {NamePrefix{}, NamePrefix{"bert."}};

void read_bert_config(ConfigReader& reader, ModelConfig& config) { read_bert_parts(reader, config, 0); }

}  // namespace

extern constexpr Architecture kBert{
    .name = "BertModel",
    .model_type = "bert",
    .tensors = kBertTensors,
    .ignored_suffixes = kBertIgnored,
    .prefixes = kBertPrefixes,
    .read_config = read_bert_config,
};

}  // namespace lathe::engine
