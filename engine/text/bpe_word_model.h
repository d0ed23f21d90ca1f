// SPDX-License-Identifier: Apache-2.0
// The byte-pair encoding word model, made from the vocabulary and merges of a tokenizer description.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Errors: model_refused, naming the merge or the option.
Result<std::unique_ptr<WordModel>> make_bpe_word_model(const WordModelParts& parts);

}  // namespace lathe::engine
