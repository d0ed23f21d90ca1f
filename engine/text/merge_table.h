// SPDX-License-Identifier: Apache-2.0
// The merges of a BPE vocabulary: a map from a pair of ids to the rank of the pair and the id of the merged piece.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace lathe::engine {

/// A hash table with open addressing: a look-up reads one cache line, and look-ups dominate the cost of merging.
class MergeTable {
 public:
  struct Merge {
    std::uint32_t rank = kNone;
    std::int32_t id = 0;
  };
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  explicit MergeTable(std::size_t n_merges = 0) : slots_(std::bit_ceil(2 * n_merges + 2)), mask_(slots_.size() - 1) {}

  /// Returns false if the pair is in the table already. Requires: at most n_merges insertions.
  bool insert(std::int32_t left, std::int32_t right, Merge merge) {
    Slot& slot = slots_[find_slot(key_of(left, right))];
    if (slot.merge.rank != kNone) return false;
    slot = {key_of(left, right), merge};
    return true;
  }
  /// Returns rank kNone if the pair does not merge.
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[find_slot(key_of(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Merge merge;
  };

  static std::uint64_t key_of(std::int32_t left, std::int32_t right) {
    return (static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32) | static_cast<std::uint32_t>(right);
  }
  std::size_t find_slot(std::uint64_t key) const {
    std::size_t at = (key * 0x9E3779B97F4A7C15ull) >> 32 & mask_;
    while (slots_[at].merge.rank != kNone && slots_[at].key != key) at = (at + 1) & mask_;
    return at;
  }

  std::vector<Slot> slots_;
  std::size_t mask_;
};

}  // namespace lathe::engine
