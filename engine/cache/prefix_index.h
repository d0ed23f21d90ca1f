// SPDX-License-Identifier: Apache-2.0
// PrefixIndex: finds the block that holds given tokens after a given prefix.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::engine {

/// Identifies a prefix of whole blocks. Never given out twice, so an equal node proves an equal prefix.
using PrefixNode = std::uint64_t;
inline constexpr PrefixNode kEmptyPrefix = 0;

/// A hash chain over full blocks: the key of a block is a hash of the node of the block before it and of its own tokens. A
/// hit is proven by comparing that node and the tokens (of a first block also the salt), so two prefixes are never confused,
/// whatever their hashes. At most one entry for each block of the pool; all memory is taken at the start, except for the
/// copy of a salt.
/// Thread: the engine's.
class PrefixIndex {
 public:
  PrefixIndex(int n_blocks, int block_size);

  /// The block that holds `tokens` after `parent`, or -1. `salt` separates tenants; it is compared only if parent is
  /// kEmptyPrefix. Requires: tokens.size() = block_size.
  std::int32_t find(PrefixNode parent, std::span<const std::int32_t> tokens, std::string_view salt) const;
  /// Requires: the block is not in the index, and find() returns -1.
  void insert(std::int32_t block, PrefixNode parent, std::span<const std::int32_t> tokens, std::string_view salt);
  /// Does nothing if the block is not in the index.
  void erase(std::int32_t block);

  bool contains(std::int32_t block) const { return entry(block).node != kEmptyPrefix; }
  /// The prefix that ends with this block. Requires: contains(block).
  PrefixNode node_of(std::int32_t block) const { return entry(block).node; }
  int size() const { return size_; }

 private:
  struct Entry {
    PrefixNode node = kEmptyPrefix;  ///< kEmptyPrefix: not in the index
    PrefixNode parent = kEmptyPrefix;
    std::uint64_t hash = 0;
    std::int32_t next = -1;  ///< next block in the chain of the bucket
  };

  const Entry& entry(std::int32_t block) const { return entries_[static_cast<std::size_t>(block)]; }
  Entry& entry(std::int32_t block) { return entries_[static_cast<std::size_t>(block)]; }
  std::int32_t* tokens_of(std::int32_t block) { return tokens_.data() + static_cast<std::ptrdiff_t>(block) * block_size_; }
  const std::int32_t* tokens_of(std::int32_t block) const {
    return tokens_.data() + static_cast<std::ptrdiff_t>(block) * block_size_;
  }
  std::size_t bucket_of(std::uint64_t hash) const { return hash & (heads_.size() - 1); }

  int block_size_;
  int size_ = 0;
  PrefixNode last_node_ = kEmptyPrefix;
  std::vector<std::int32_t> heads_;   ///< first block of each bucket's chain; a power of two of buckets
  std::vector<Entry> entries_;        ///< indexed by block
  std::vector<std::int32_t> tokens_;  ///< indexed by block
  std::vector<std::string> salts_;    ///< indexed by block; only first blocks have one
};

}  // namespace lathe::engine
