// SPDX-License-Identifier: Apache-2.0
// RoBERTa and XLM-RoBERTa (multilingual E5, BGE-M3): BERT whose positions begin after the row of the padding token. Source:
// Liu et al. 2019; Conneau et al. 2019; Hugging Face transformers, RobertaConfig.
#include "engine/model/bert_config.h"

namespace lathe::engine {
namespace {

void read_config(ConfigReader& reader, ModelConfig& config) {
  read_bert_parts(reader, config, reader.integer_or("pad_token_id", 1, 0, kMaxVocab) + 1);
}

constexpr std::array kPrefixes = {NamePrefix{}, NamePrefix{"roberta."}};

}  // namespace

extern constexpr Architecture kRoberta{
    .name = "RobertaModel",
    .model_type = "roberta",
    .tensors = kBertTensors,
    .ignored_suffixes = kBertIgnored,
    .prefixes = kPrefixes,
    .read_config = read_config,
};

extern constexpr Architecture kXlmRoberta{
    .name = "XLMRobertaModel",
    .model_type = "xlm-roberta",
    .tensors = kBertTensors,
    .ignored_suffixes = kBertIgnored,
    .prefixes = kPrefixes,
    .read_config = read_config,
};

}  // namespace lathe::engine
