// SPDX-License-Identifier: Apache-2.0
// Tokenizer over a sentencepiece model (tokenizer.model), unigram or BPE.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/model_folder.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

/// `file` is a name in `folder`, which holds the configuration files beside the model. Errors: model_refused with what is
/// wrong in which file.
Result<std::unique_ptr<Tokenizer>> open_sentencepiece_tokenizer(const ModelFolder& folder, const std::string& file);

/// The same of a model in memory. Errors: as above.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(const std::string& bytes, const TokenizerConfig& config);

}  // namespace lathe::engine
