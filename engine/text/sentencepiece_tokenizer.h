// SPDX-License-Identifier: Apache-2.0
// Tokenizer over a sentencepiece model (tokenizer.model), unigram or BPE.
#pragma once

#include <memory>
#include <string>

#include "engine/api/tokenizer.h"

namespace lathe::engine {

/// `folder` holds the configuration files beside the model. Errors: model_refused with what is wrong in which file.
Result<std::unique_ptr<Tokenizer>> open_sentencepiece_tokenizer(const std::string& folder, const std::string& file);

}  // namespace lathe::engine
