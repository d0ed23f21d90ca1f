// SPDX-License-Identifier: Apache-2.0
// Computes the offsets of a prompt's tokens in its text, for text_offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::app {

struct TokenOffset {
  std::size_t offset = 0;  ///< code points of the text before the token
  bool is_first = false;   ///< text without the leading space that the tokenizer puts before a text
};

/// A token whose text is in the prompt has the offset of its text, a part of a character the offset of that character, and a
/// token without text (BOS may not be in the prompt) the offset of the next token. Offsets never decrease and never exceed
/// the length, even if a normalizer has changed the text.
std::vector<TokenOffset> token_offsets(const engine::Tokenizer& tokenizer, const std::vector<std::int32_t>& ids,
                                       std::string_view text);

}  // namespace lathe::app
