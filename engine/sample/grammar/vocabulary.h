// SPDX-License-Identifier: Apache-2.0
// Vocabulary: the bytes of a tokenizer's tokens as a trie, in the order in which a walk visits it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::engine::grammar {

/// The bytes by which a grammar asks for one token, whatever its text. UTF-8 has no byte 0xFF, so no text has them.
/// Requires: 0 <= id < 2^21.
std::string bytes_of_token(std::int32_t id);

/// Bytes that bytes_of_token() gives, the first of them kTokenByte.
inline constexpr std::size_t kTokenBytes = 4;
inline constexpr char kTokenByte = '\xFF';
/// The token that such bytes ask for. Requires: kTokenBytes bytes.
std::int32_t token_of_bytes(std::string_view bytes);

/// Tokens sorted by their bytes. A token that adds text has the bytes of its text; a control token those of
/// bytes_of_token(), and a marker both. Immutable.
class Vocabulary {
 public:
  /// `n_logits`: entries of a row of logits, at least the size of the tokenizer's vocabulary. `markers`: tokens with text
  /// that grammars may ask for by their ids.
  Vocabulary(const Tokenizer& tokenizer, std::int64_t n_logits, std::span<const std::int32_t> markers = {});

  /// A node of the trie, its children behind it up to `end`.
  struct Node {
    std::uint32_t end = 0;          ///< index of the node that follows the subtree
    std::uint32_t first_token = 0;  ///< index of its first token in the sorted order; its tokens come before its children's
    std::uint16_t depth = 0;        ///< bytes from the root; 1 for the first
    std::uint8_t byte = 0;
  };
  std::span<const Node> nodes() const { return std::span(nodes_).first(nodes_.size() - 1); }
  /// Index behind a node's own tokens.
  std::uint32_t own_end(std::size_t node) const { return nodes_[node + 1].first_token; }
  /// Index of the first token of a node that may be the end of nodes().
  std::uint32_t first_token(std::size_t node) const { return nodes_[node].first_token; }

  std::size_t n_tokens() const { return ids_.size(); }
  std::int32_t id(std::size_t token) const { return ids_[token]; }
  /// Bytes of the i-th token in sorted order.
  std::string_view text(std::size_t token) const {
    return std::string_view(bytes_).substr(begins_[token], begins_[token + 1] - begins_[token]);
  }
  /// Bytes of a token's text by its id; empty: it adds no text.
  std::string_view text_of(std::int32_t id) const;
  /// Whether a grammar may ask for the token by its id.
  bool has_own_bytes(std::int32_t id) const {
    return id >= 0 && static_cast<std::size_t>(id) < has_own_.size() && has_own_[static_cast<std::size_t>(id)];
  }
  std::size_t n_logits() const { return n_logits_; }
  std::size_t n_words() const { return (n_logits_ + 63) / 64; }  ///< of a mask
  std::size_t longest() const { return longest_; }

 private:
  void make_nodes();

  std::size_t n_logits_ = 0, longest_ = 0;
  std::string bytes_;
  std::vector<std::uint32_t> begins_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> order_;  ///< index of a token's text in the sorted order by id; -1: none
  std::vector<bool> has_own_;        ///< by id
  std::vector<Node> nodes_;          ///< one more than there are, as the end
};

}  // namespace lathe::engine::grammar
