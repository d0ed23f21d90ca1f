// SPDX-License-Identifier: Apache-2.0
// Added tokens: texts that become one id before any other rule of the tokenizer is applied.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/piece_trie.h"

namespace lathe::engine {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool special = false;      ///< a control token: matched only where the caller allows control tokens
  bool lstrip = false;       ///< the match includes the white space before the token
  bool rstrip = false;       ///< the match includes the white space after the token
  bool single_word = false;  ///< does not match inside a word
  bool normalized = false;   ///< found in the normalized text, by the token's own normalized content

  bool operator==(const AddedToken&) const = default;
};

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

/// Finds the leftmost longest matches of a set of added tokens, with the rules of the tokenizers library: a match that is
/// rejected because of a flag still hides the tokens that begin inside it. Immutable.
class AddedTokenSet {
 public:
  struct Match {
    TextRange range;  ///< includes the white space that the token takes
    std::int32_t id = 0;
  };

  AddedTokenSet() = default;
  /// If several tokens have the same content, the last one wins; empty contents are dropped.
  explicit AddedTokenSet(std::vector<AddedToken> tokens);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool has_special() const;
  /// Returns the matches in order; a match may begin in the white space that the previous match includes. A special token is
  /// matched only inside one of the ranges `special_allowed` (sorted, not adjacent); one that extends beyond the end of a
  /// range hides nothing.
  std::vector<Match> find(std::string_view text, std::span<const TextRange> special_allowed) const;

 private:
  struct Found {
    const AddedToken* token = nullptr;  ///< null: none
    bool denied = false;                ///< a special token where none is allowed
  };
  Found match_at(std::string_view text, std::size_t at, std::span<const TextRange> special_allowed) const;

  std::vector<AddedToken> tokens_;
  PieceTrie trie_;                  // maps contents to indices of tokens_
  std::array<bool, 256> starts_{};  // by byte: whether a token begins with that byte
};

}  // namespace lathe::engine
