// SPDX-License-Identifier: Apache-2.0
// Decoders of tokenizer.json, reduced to what one token adds to a text and what is taken off the front of the whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct TokenDecoder {
  using Step = std::function<void(std::string& piece, bool first)>;
  std::vector<Step> steps;  ///< applied to each piece in order, once, when the tokenizer opens
  bool has_place = false;   ///< a piece reads otherwise at the front of a text
  /// Pieces are in the byte alphabet. An added token may be text that only looks so.
  bool is_byte_level = false;
  std::string strip_front;  ///< taken off the front of a whole text, if it is there
  std::string joiner;       ///< put between tokens
};

/// Errors: model_refused naming a type or an option that is not known.
Result<TokenDecoder> make_token_decoder(const Json& description);

}  // namespace lathe::engine
