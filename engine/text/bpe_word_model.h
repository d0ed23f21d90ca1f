// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding as a model of words: its vocabulary and merges out of a description.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Errors: model_refused with the merge or the option.
Result<std::unique_ptr<WordModel>> make_bpe_word_model(const WordModelParts& parts);

}  // namespace lathe::engine
