// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding: merges the pieces of a word, lowest rank first, until no pair can be merged.
// Source: Sennrich et al., "Neural machine translation of rare words with subword units" (2016), section 3.2.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/text/merge_table.h"
#include "engine/text/piece_table.h"

namespace lathe::engine {

struct BpeModel {
  PieceTable pieces;  ///< raw bytes if byte_level
  MergeTable merges;
  bool byte_level = false;             ///< a word starts as single bytes, otherwise as characters
  bool ignore_merges = false;          ///< a word that is a piece becomes that piece without merging
  bool fuse_unk = false;               ///< adjacent unknown characters become one unk
  std::int32_t unk_id = -1;            ///< -1: unknown characters are dropped
  std::vector<std::int32_t> byte_ids;  ///< [256] for byte_level or byte fallback; -1: the byte has no id
};

/// Memory that encode_word() and merge_word() reuse between calls.
struct BpeScratch {
  struct Symbol {
    std::int32_t id = 0;
    std::int32_t previous = -1, next = -1;  ///< -1: none
  };
  struct Candidate {
    std::uint32_t rank = 0;
    std::int32_t at = 0;               ///< index of the left symbol
    std::int32_t left = 0, right = 0;  ///< ids at insertion: the candidate is stale if they have changed
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<std::uint32_t> ranks;
};

/// Appends the ids of a word. Cost: O(n log n) for n characters.
void encode_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids);
/// Appends the ids of a word, found by merges alone even if ignore_merges is set.
void merge_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids);

}  // namespace lathe::engine
