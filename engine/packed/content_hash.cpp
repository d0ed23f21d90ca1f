// SPDX-License-Identifier: Apache-2.0
#include "engine/packed/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/api/check.h"

namespace lathe::engine {
namespace {

__extension__ typedef unsigned __int128 Sum;

constexpr std::size_t kBlockBytes = 1024;
constexpr std::size_t kWords = kBlockBytes / sizeof(std::uint64_t);
// Each level reduces 64 blocks to one: 8 levels suffice for 2^50 bytes.
constexpr std::size_t kLevels = 8;

/// Mixes all bits of x. Source: Steele et al. 2014 (SplitMix64).
constexpr std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Keys of all levels. Each level starts two keys later, so that a sum is never combined with the keys that made it.
struct Keys {
  std::array<std::uint64_t, kWords + 2 * kLevels> words{};
  constexpr Keys() {
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = mixed(i);
  }
};
constexpr Keys kKeys;

Sum sum_of(const std::byte* block, std::size_t level) {
  const std::uint64_t* const keys = kKeys.words.data() + 2 * level;
  Sum sum = 0;
  for (std::size_t i = 0; i < kWords; i += 2) {
    std::uint64_t pair[2];
    std::memcpy(pair, block + i * sizeof(std::uint64_t), sizeof pair);
    sum += static_cast<Sum>(pair[0] + keys[i]) * (pair[1] + keys[i + 1]);
  }
  return sum;
}

/// Reduces the blocks of one buffer to one sum.
class Tree {
 public:
  void add(const std::byte* block) { rise(1, sum_of(block, 0)); }

  /// Requires: at least one block was added.
  Sum root() {
    for (std::size_t level = 1;; ++level) {
      Level& here = levels_[level];
      const bool is_top = std::all_of(levels_.begin() + static_cast<std::ptrdiff_t>(level) + 1, levels_.end(),
                                      [](const Level& above) { return above.n_bytes == 0; });
      std::memset(here.block + here.n_bytes, 0, kBlockBytes - here.n_bytes);
      if (is_top && here.n_bytes == sizeof(Sum)) {
        Sum sum;
        std::memcpy(&sum, here.block, sizeof sum);
        return sum;
      }
      if (here.n_bytes > 0) rise(level + 1, sum_of(here.block, level));
    }
  }

 private:
  struct Level {
    std::byte block[kBlockBytes];
    std::size_t n_bytes = 0;
  };

  void rise(std::size_t level, Sum sum) {
    LATHE_CHECK(level < kLevels);
    Level& here = levels_[level];
    std::memcpy(here.block + here.n_bytes, &sum, sizeof sum);
    here.n_bytes += sizeof sum;
    if (here.n_bytes < kBlockBytes) return;
    here.n_bytes = 0;
    rise(level + 1, sum_of(here.block, level));
  }

  std::array<Level, kLevels> levels_;
};

}  // namespace

ContentHash hash_of(std::span<const std::byte> bytes) {
  Tree tree;
  std::size_t begin = 0;
  for (; begin + kBlockBytes <= bytes.size(); begin += kBlockBytes) tree.add(bytes.data() + begin);
  if (begin < bytes.size() || bytes.empty()) {
    std::byte last[kBlockBytes] = {};
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end(), last);
    tree.add(last);
  }
  const Sum sum = tree.root();
  const std::uint64_t length = mixed(bytes.size());
  const auto low = static_cast<std::uint64_t>(sum);
  return {.high = mixed(static_cast<std::uint64_t>(sum >> 64) ^ length), .low = mixed(low ^ mixed(length))};
}

ContentHash hash_of(std::string_view text) { return hash_of(std::as_bytes(std::span(text))); }

std::string to_string(const ContentHash& hash) { return fmt::format("{:016x}{:016x}", hash.high, hash.low); }

std::size_t PieceHashes::size_of(std::size_t piece) const { return std::min(kPieceBytes, n_bytes_ - begin_of(piece)); }

void PieceHashes::take(std::size_t piece, std::span<const std::byte> bytes) {
  LATHE_DCHECK(bytes.size() == size_of(piece));
  hashes_[piece] = hash_of(bytes);
}

ContentHash PieceHashes::all() const { return hash_of(std::as_bytes(std::span(hashes_))); }

}  // namespace lathe::engine
