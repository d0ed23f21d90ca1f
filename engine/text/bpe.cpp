// SPDX-License-Identifier: Apache-2.0
#include "engine/text/bpe.h"

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

using Symbol = BpeScratch::Symbol;
using Candidate = BpeScratch::Candidate;

// A scan for the lowest rank is faster than a heap up to this size; nearly all words of text are shorter.
constexpr std::size_t kScanSymbols = 24;

void start_as_bytes(const BpeModel& model, std::string_view word, std::vector<Symbol>& symbols) {
  for (const char c : word) {
    const std::int32_t id = model.byte_ids[static_cast<unsigned char>(c)];
    if (id >= 0) symbols.push_back({id});
  }
}

/// Appends the pieces of a character's bytes; returns false if a byte has none.
bool append_bytes(const BpeModel& model, std::string_view character, std::vector<Symbol>& symbols) {
  if (model.byte_ids.empty()) return false;
  const std::size_t n_before = symbols.size();
  start_as_bytes(model, character, symbols);
  if (symbols.size() == n_before + character.size()) return true;
  symbols.resize(n_before);
  return false;
}

void start_as_characters(const BpeModel& model, std::string_view word, std::vector<Symbol>& symbols) {
  bool last_unknown = false;
  for (std::size_t at = 0; at < word.size();) {
    const std::string_view character = word.substr(at, read_utf8(word, at).size);
    at += character.size();
    bool unknown = false;
    if (const std::int32_t id = model.pieces.find(character); id != PieceTable::kNone) {
      symbols.push_back({id});
    } else if (!append_bytes(model, character, symbols)) {
      unknown = true;
      if (model.unk_id >= 0 && !(last_unknown && model.fuse_unk)) symbols.push_back({model.unk_id});
    }
    last_unknown = unknown;
  }
}

/// Merges by a scan for the lowest rank at each step. Cost: quadratic, on few symbols.
void merge_by_scan(const BpeModel& model, BpeScratch& scratch, std::vector<std::int32_t>& ids) {
  auto& symbols = scratch.symbols;
  auto& ranks = scratch.ranks;  // ranks[i]: rank of the pair (i, i + 1)
  std::size_t n = symbols.size();
  ranks.assign(n, MergeTable::kNone);
  const auto look_up = [&](std::size_t i) {
    ranks[i] = i + 1 < n ? model.merges.find(symbols[i].id, symbols[i + 1].id).rank : MergeTable::kNone;
  };
  for (std::size_t i = 0; i + 1 < n; ++i) look_up(i);
  while (n > 1) {
    const auto lowest = std::min_element(ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(n - 1));
    if (*lowest == MergeTable::kNone) break;
    const auto i = static_cast<std::size_t>(lowest - ranks.begin());
    symbols[i].id = model.merges.find(symbols[i].id, symbols[i + 1].id).id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    ranks.erase(ranks.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    --n;
    look_up(i);
    if (i > 0) look_up(i - 1);
  }
  for (const Symbol& symbol : symbols) ids.push_back(symbol.id);
}

/// Merges with a heap of candidates over a linked list of symbols; candidates that a merge made stale are skipped.
void merge_by_heap(const BpeModel& model, BpeScratch& scratch, std::vector<std::int32_t>& ids) {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  const auto later = [](const Candidate& a, const Candidate& b) { return a.rank != b.rank ? a.rank > b.rank : a.at > b.at; };
  const auto push = [&](std::int32_t at) {
    const std::int32_t next = at < 0 ? -1 : symbols[static_cast<std::size_t>(at)].next;
    if (next < 0) return;
    const std::int32_t left = symbols[static_cast<std::size_t>(at)].id, right = symbols[static_cast<std::size_t>(next)].id;
    const std::uint32_t rank = model.merges.find(left, right).rank;
    if (rank == MergeTable::kNone) return;
    heap.push_back({rank, at, left, right});
    std::push_heap(heap.begin(), heap.end(), later);
  };
  const auto n = static_cast<std::int32_t>(symbols.size());
  for (std::int32_t i = 0; i < n; ++i) {
    symbols[static_cast<std::size_t>(i)].previous = i - 1;
    symbols[static_cast<std::size_t>(i)].next = i + 1 < n ? i + 1 : -1;
  }
  for (std::int32_t i = 0; i < n; ++i) push(i);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Candidate best = heap.back();
    heap.pop_back();
    Symbol& left = symbols[static_cast<std::size_t>(best.at)];
    if (left.id != best.left || left.next < 0) continue;
    Symbol& right = symbols[static_cast<std::size_t>(left.next)];
    if (right.id != best.right) continue;
    left.id = model.merges.find(best.left, best.right).id;
    right.id = -1;  // merged into the left symbol
    left.next = right.next;
    if (left.next >= 0) symbols[static_cast<std::size_t>(left.next)].previous = best.at;
    push(left.previous);
    push(best.at);
  }
  for (std::int32_t at = 0; at >= 0; at = symbols[static_cast<std::size_t>(at)].next) {
    ids.push_back(symbols[static_cast<std::size_t>(at)].id);
  }
}

}  // namespace

void merge_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) {
  scratch.symbols.clear();
  if (model.byte_level) {
    start_as_bytes(model, word, scratch.symbols);
  } else {
    start_as_characters(model, word, scratch.symbols);
  }
  if (scratch.symbols.size() <= kScanSymbols) {
    merge_by_scan(model, scratch, ids);
  } else {
    merge_by_heap(model, scratch, ids);
  }
}

void encode_word(const BpeModel& model, std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) {
  const std::int32_t whole = model.ignore_merges ? model.pieces.find(word) : PieceTable::kNone;
  if (whole == PieceTable::kNone) return merge_word(model, word, scratch, ids);
  ids.push_back(whole);
}

}  // namespace lathe::engine
