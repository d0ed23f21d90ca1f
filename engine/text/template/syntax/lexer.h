// SPDX-License-Identifier: Apache-2.0
// The lexer converts template source to tokens, with trim_blocks and lstrip_blocks on, as chat templates expect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/template/runtime/failure.h"

namespace lathe::engine::jinja {

enum class TokenKind : std::uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  integer,
  number,
  text,
  symbol,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::string text;  ///< data and text: the contents with escapes resolved
  Position at;
};

/// Returns the tokens; the last one has the kind `end`. Throws Failure.
std::vector<Token> tokenize(std::string_view source);

}  // namespace lathe::engine::jinja
