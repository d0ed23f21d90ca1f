// SPDX-License-Identifier: Apache-2.0
// WordPiece: a word is cut from its front, the longest piece first; one that cannot be cut is unknown as a whole.
// Source: BERT (Devlin et al. 2018) and its tokenization.py, class WordpieceTokenizer.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Pieces that go on inside a word are written with a prefix, "##" where the file names none.
Result<std::unique_ptr<WordModel>> make_wordpiece(const WordModelParts& parts);

}  // namespace lathe::engine
