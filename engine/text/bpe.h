// SPDX-License-Identifier: Apache-2.0
// Byte-pair encoding: merges the pieces of a word, lowest rank first, until no pair merges any more.
// Source: Sennrich et al., "Neural machine translation of rare words with subword units" (2016), section 3.2.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/text/merge_table.h"
#include "engine/text/piece_table.h"

namespace lathe::engine {

struct BpeModel {
  PieceTable pieces;  ///< raw bytes when byte_level
  MergeTable merges;
  bool byte_level = false;             ///< words start as single bytes, else as characters
  bool ignore_merges = false;          ///< a word that is a piece is taken whole
  bool fuse_unk = false;               ///< unknown characters side by side become one unk
  std::int32_t unk_id = -1;            ///< -1: unknown characters vanish
  std::vector<std::int32_t> byte_ids;  ///< [256] of byte_level words or of the byte fallback, -1 where there is none
};

/// Reused memory of an encoder.
struct BpeScratch {
  struct Symbol {
    std::int32_t id = 0;
    std::int32_t previous = -1, next = -1;  ///< -1: none
  };
  struct Candidate {
    std::uint32_t rank = 0;
    std::int32_t at = 0;               ///< left symbol
    std::int32_t left = 0, right = 0;  ///< ids when it was found: it is stale when they changed
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
  std::vector<std::uint32_t> ranks;
};

/// Appends the ids of a word. Cost: n log n for n characters.
void encode_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids);
/// The same by merges alone, whatever ignore_merges says.
void merge_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids);

}  // namespace lathe::engine
