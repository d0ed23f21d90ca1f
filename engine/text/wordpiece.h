// SPDX-License-Identifier: Apache-2.0
// WordPiece: cuts a word from its front, the longest piece first; a word that cannot be cut is unknown as a whole.
#pragma once

#include <memory>

#include "engine/text/word_model.h"

namespace lathe::engine {

/// Pieces that continue a word have a prefix: "##" if the file names none.
Result<std::unique_ptr<WordModel>> make_wordpiece(const WordModelParts& parts);

}  // namespace lathe::engine
