// SPDX-License-Identifier: Apache-2.0
// Decoders of tokenizer.json, reduced to two effects: the text that one token adds, and the text that is removed from the
// front of the whole.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/api/json.h"
#include "engine/api/result.h"

namespace lathe::engine {

struct TokenDecoder {
  using Step = std::function<void(std::string& piece, bool first)>;
  std::vector<Step> steps;  ///< applied to each piece in order, once, when the tokenizer is opened
  bool has_place = false;   ///< a piece decodes differently at the front of a text
  /// Pieces are in the byte alphabet. The content of an added token may be text that only resembles it.
  bool is_byte_level = false;
  std::string strip_front;  ///< removed from the front of a decoded text, if present
  std::string joiner;       ///< inserted between tokens
};

/// Errors: model_refused, naming an unknown type or option.
Result<TokenDecoder> make_token_decoder(const Json& description);

}  // namespace lathe::engine
