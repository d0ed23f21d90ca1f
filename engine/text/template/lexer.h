// SPDX-License-Identifier: Apache-2.0
// Template source to tokens, with trim_blocks and lstrip_blocks on, as chat templates are written for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/text/template/failure.h"

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
  std::string text;  ///< of data and text: the contents, escapes resolved
  Position at;
};

/// Ends with a token of kind `end`. Throws Failure.
std::vector<Token> tokenize(std::string_view source);

}  // namespace lathe::engine::jinja
