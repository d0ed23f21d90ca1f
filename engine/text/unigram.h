// SPDX-License-Identifier: Apache-2.0
// Unigram: of all ways to cut a word into pieces the one whose scores add up highest.
// Source: Kudo, "Subword regularization" (2018), section 3.2; its rules for unknown characters are those of sentencepiece.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Cost: characters of a word times the length of the longest pieces there. Unknown characters side by side become one
/// unk, or their bytes where the file says byte_fallback and has a piece for each.
Result<std::unique_ptr<WordModel>> make_unigram(const WordModelParts& parts);

}  // namespace lathe::engine
