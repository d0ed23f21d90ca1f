// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a sentencepiece model (tokenizer.model), unigram or BPE.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"
#include "engine/text/tokenizer_config.h"

namespace lathe::engine {

/// Opens the model `file` in `folder`, which also holds the configuration files. Errors: model_refused with the file and the
/// reason.
Result<std::unique_ptr<Tokenizer>> open_sentencepiece_tokenizer(const ModelFolder& folder, const std::string& file);

/// Makes the tokenizer from a model in memory. Errors: those of open_sentencepiece_tokenizer.
Result<std::unique_ptr<Tokenizer>> make_sentencepiece_tokenizer(const std::string& bytes, const TokenizerConfig& config);

}  // namespace lathe::engine
