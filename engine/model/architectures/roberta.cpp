// SPDX-License-Identifier: Apache-2.0
// RoBERTa and XLM-RoBERTa (multilingual E5, BGE-M3): BERT whose positions begin after the row of the padding token. Source:
// Liu et al. 2019; Conneau et al. 2019; Hugging Face transformers, RobertaConfig.
#include "engine/model/bert_config.h"

namespace lathe::engine {
namespace {

void read_roberta_config(ConfigReader& reader, ModelConfig& config) {
  read_bert_parts(reader, config, reader.integer_or("pad_token_id", 1, 0, kMaxVocab) + 1);
}

constexpr std::array kRobertaPrefixes = {NamePrefix{}, NamePrefix{"roberta."}};

}  // namespace

extern constexpr Architecture kRoberta{
    .name = "RobertaModel",
    .model_type = "roberta",
    .tensors = kBertTensors,
    .ignored_suffixes = kBertIgnored,
    .prefixes = kRobertaPrefixes,
    .read_config = read_roberta_config,
};

extern constexpr Architecture kXlmRoberta{
    .name = "XLMRobertaModel",
    .model_type = "xlm-roberta",
    .tensors = kBertTensors,
    .ignored_suffixes = kBertIgnored,
    .prefixes = kRobertaPrefixes,
    .read_config = read_roberta_config,
};

}  // namespace lathe::engine
