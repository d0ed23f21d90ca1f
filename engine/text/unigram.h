// SPDX-License-Identifier: Apache-2.0
// Unigram: cuts a word into the pieces whose scores have the highest sum.
// Source: Kudo, "Subword regularization" (2018), section 3.2; the rules for unknown characters are those of sentencepiece.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Cost: characters of a word times the length of the longest piece at each. Adjacent unknown characters become one unk, or
/// their bytes if the file sets byte_fallback and has a piece for each byte.
Result<std::unique_ptr<WordModel>> make_unigram(const WordModelParts& parts);

}  // namespace lathe::engine
