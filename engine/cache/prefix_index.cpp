// SPDX-License-Identifier: Apache-2.0
#include "engine/cache/prefix_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

/// Folds a word into the state by a full 64 x 64 bit multiplication: two words a nanosecond, every input bit reaches the low
/// bits that choose the bucket. Collisions cost a comparison, never a wrong answer.
std::uint64_t mix(std::uint64_t state, std::uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(state ^ word ^ 0x9e3779b97f4a7c15U) * 0xd6e8feb86659fd93U;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

std::uint64_t hash_of(PrefixNode parent, std::span<const std::int32_t> tokens, std::string_view salt) {
  std::uint64_t hash = mix(tokens.size(), parent);
  std::size_t i = 0;
  for (; i + 1 < tokens.size(); i += 2) {
    hash = mix(hash, static_cast<std::uint32_t>(tokens[i]) | static_cast<std::uint64_t>(tokens[i + 1]) << 32);
  }
  if (i < tokens.size()) hash = mix(hash, static_cast<std::uint32_t>(tokens[i]));
  if (parent == kEmptyPrefix) {
    for (const char c : salt) hash = mix(hash, static_cast<unsigned char>(c));
  }
  return hash;
}

}  // namespace

PrefixIndex::PrefixIndex(int n_blocks, int block_size)
    : block_size_(block_size),
      heads_(std::bit_ceil(static_cast<std::size_t>(n_blocks) * 2), -1),
      entries_(static_cast<std::size_t>(n_blocks)),
      tokens_(static_cast<std::size_t>(n_blocks) * static_cast<std::size_t>(block_size)),
      salts_(static_cast<std::size_t>(n_blocks)) {}

std::int32_t PrefixIndex::find(PrefixNode parent, std::span<const std::int32_t> tokens, std::string_view salt) const {
  const std::uint64_t hash = hash_of(parent, tokens, salt);
  for (std::int32_t block = heads_[bucket_of(hash)]; block >= 0; block = entry(block).next) {
    const Entry& candidate = entry(block);
    if (candidate.hash != hash || candidate.parent != parent) continue;
    if (!std::equal(tokens.begin(), tokens.end(), tokens_of(block))) continue;
    if (parent == kEmptyPrefix && salts_[static_cast<std::size_t>(block)] != salt) continue;
    return block;
  }
  return -1;
}

void PrefixIndex::insert(std::int32_t block, PrefixNode parent, std::span<const std::int32_t> tokens,
                         std::string_view salt) {
  LATHE_CHECK(static_cast<int>(tokens.size()) == block_size_ && !contains(block));
  Entry& added = entry(block);
  added.node = ++last_node_;
  added.parent = parent;
  added.hash = hash_of(parent, tokens, salt);
  added.next = std::exchange(heads_[bucket_of(added.hash)], block);
  std::copy(tokens.begin(), tokens.end(), tokens_of(block));
  if (parent == kEmptyPrefix) salts_[static_cast<std::size_t>(block)] = salt;
  ++size_;
}

void PrefixIndex::erase(std::int32_t block) {
  if (!contains(block)) return;
  Entry& gone = entry(block);
  std::int32_t* link = &heads_[bucket_of(gone.hash)];
  while (*link != block) link = &entry(*link).next;
  *link = gone.next;
  gone = Entry{};
  --size_;
}

}  // namespace lathe::engine
