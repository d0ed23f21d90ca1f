// SPDX-License-Identifier: Apache-2.0
// Added tokens: texts that become one id before any other rule sees them, and who may write them.
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
  bool special = false;      ///< a control token: read only out of text that may hold such
  bool lstrip = false;       ///< takes the white space before it along
  bool rstrip = false;       ///< takes the white space after it along
  bool single_word = false;  ///< not inside a word
  bool normalized = false;   ///< found in the normalized text, by its own normalized content

  bool operator==(const AddedToken&) const = default;
};

/// Bytes [begin, end) of a text.
struct TextRange {
  std::size_t begin = 0, end = 0;
};

/// The leftmost longest matches of a set of added tokens, with the rules of the tokenizers library: a match that a flag
/// denies still hides the tokens that begin inside it. Immutable.
class AddedTokenSet {
 public:
  struct Match {
    TextRange range;  ///< with the white space that it takes along
    std::int32_t id = 0;
  };

  AddedTokenSet() = default;
  /// Of tokens with the same content the last wins; empty contents are dropped.
  explicit AddedTokenSet(std::vector<AddedToken> tokens);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  bool has_special() const;
  /// Matches in order; one may begin in the white space that the one before it takes along. A special token is matched only
  /// inside one of the ranges `special_allowed` (sorted, not touching), and one that reaches over the end of a range hides
  /// nothing.
  std::vector<Match> find(std::string_view text, std::span<const TextRange> special_allowed) const;

 private:
  struct Found {
    const AddedToken* token = nullptr;  ///< null: none
    bool denied = false;                ///< a special token where none may be
  };
  Found match_at(std::string_view text, std::size_t at, std::span<const TextRange> special_allowed) const;

  std::vector<AddedToken> tokens_;
  PieceTrie trie_;                  // contents to indices of tokens_
  std::array<bool, 256> starts_{};  // by byte: whether a token begins with it
};

}  // namespace lathe::engine
