// SPDX-License-Identifier: Apache-2.0
// Vocabulary: the bytes of a tokenizer's tokens as a trie, in the order in which a walk visits it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/api/tokenizer.h"

namespace lathe::engine::grammar {

/// Tokens that add text are sorted by their bytes; control tokens and those without bytes are left out. Immutable.
class Vocabulary {
 public:
  /// `n_logits`: entries of a row of logits, at least the size of the tokenizer's vocabulary.
  Vocabulary(const Tokenizer& tokenizer, std::int64_t n_logits);

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
  /// Bytes of a token by its id; empty: it adds no text.
  std::string_view text_of(std::int32_t id) const;
  std::size_t n_logits() const { return n_logits_; }
  std::size_t n_words() const { return (n_logits_ + 63) / 64; }  ///< of a mask
  std::size_t longest() const { return longest_; }

 private:
  void make_nodes();

  std::size_t n_logits_ = 0, longest_ = 0;
  std::string bytes_;
  std::vector<std::uint32_t> begins_;
  std::vector<std::int32_t> ids_;
  std::vector<std::int32_t> order_;  ///< index in the sorted order by id; -1: none
  std::vector<Node> nodes_;          ///< one more than there are, as the end
};

}  // namespace lathe::engine::grammar
