// SPDX-License-Identifier: Apache-2.0
#include "engine/text/charsmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lathe::engine {
namespace {

constexpr std::size_t kBlock = 256;                 // number of units that one byte of a key can reach from a base
constexpr std::uint32_t kMaxTrieBytes = 16u << 20;  // the table of all Unicode forms takes 0.3 MiB
constexpr std::size_t kMaxKeyBytes = 256;           // the longest key of that table has 18 bytes
constexpr std::size_t kMaxTextBytes = 256;          // its longest text has 33; this bounds how much a text can grow
constexpr std::uint32_t kMaxMatches = 32;           // Normalizer::kMaxTrieResultsSize: the library does not check for more
constexpr std::uint32_t kValueMask = 0x7FFF'FFFF, kLabelMask = 0x8000'00FF, kHasLeaf = 1u << 8, kFar = 1u << 9;

tl::unexpected<Error> refuse_charsmap(std::string message) {
  return fail(ErrorCode::model_refused, std::move(message), "tokenizer.model: precompiled_charsmap");
}

std::size_t base_of(std::uint32_t unit, std::size_t at) {
  return at ^ (static_cast<std::size_t>(unit >> 10) << ((unit & kFar) >> 6));
}

/// A unit with the top bit set holds a value. Any other unit is the end of an edge: its label is the byte of the key, the
/// units that follow it are at base ^ byte, and the value of a key that ends there is at the base itself.
class Trie {
 public:
  explicit Trie(std::string_view bytes) : units_(bytes.size() / sizeof(std::uint32_t)) {
    std::memcpy(units_.data(), bytes.data(), units_.size() * sizeof(std::uint32_t));
  }

  std::size_t size() const { return units_.size(); }
  std::uint32_t unit(std::size_t i) const { return units_[i]; }
  std::size_t base(std::size_t i) const { return base_of(units_[i], i); }
  bool is_value(std::size_t i) const { return (units_[i] & ~kValueMask) != 0; }
  bool has_leaf(std::size_t i) const { return (units_[i] & kHasLeaf) != 0; }

 private:
  std::vector<std::uint32_t> units_;
};

Result<void> check_links(const Trie& trie, std::size_t text_bytes) {
  // The library reads the root as an edge, whatever it is.
  if (trie.is_value(0)) return refuse_charsmap("its root is a value");
  for (std::size_t i = 0; i < trie.size(); ++i) {
    if (trie.is_value(i)) {
      if ((trie.unit(i) & kValueMask) >= text_bytes) return refuse_charsmap(fmt::format("unit {} points past the texts", i));
      continue;
    }
    if (trie.unit(i) == 0) continue;  // unused, or reached only inside a complete block, so that its links stay in the trie
    if ((trie.base(i) | (kBlock - 1)) >= trie.size()) return refuse_charsmap(fmt::format("unit {} points past the trie", i));
    // The library reads the value without checking the top bit.
    if (trie.has_leaf(i) && (trie.unit(trie.base(i)) & kValueMask) >= text_bytes) {
      return refuse_charsmap(fmt::format("the value of unit {} points past the texts", i));
    }
  }
  return {};
}

/// Walks all keys from the root, depth first. Requires: checked links. Cost: linear, because a base is entered once for all
/// edges that lead to it; a cycle ends at the bound on the length of keys.
class KeyWalk {
 public:
  explicit KeyWalk(const Trie& trie) : trie_(trie), longest_((trie.size() / kBlock + 1) * kBlock) {
    // Groups the edges by their base: they are counted, then written to their offsets.
    edges_at_.assign(longest_.size() + 1, 0);
    for_each_edge([&](std::size_t base, std::uint32_t) { ++edges_at_[base + 1]; });
    for (std::size_t i = 1; i < edges_at_.size(); ++i) edges_at_[i] += edges_at_[i - 1];
    edges_.resize(edges_at_.back());
    std::vector<std::uint32_t> next = edges_at_;
    for_each_edge([&](std::size_t base, std::uint32_t edge) { edges_[next[base]++] = edge; });
  }

  Result<void> check() {
    enter(trie_.base(0));
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.next_edge == edges_at_[step.base + 1]) {
        leave();
        continue;
      }
      const std::size_t below = trie_.base(edges_[step.next_edge]);
      if (path_.size() + longest_[below].bytes > kMaxKeyBytes) {
        return refuse_charsmap(fmt::format("it has keys of more than {} bytes", kMaxKeyBytes));
      }
      if (longest_[below].known) {
        take(step, below);
      } else {
        enter(below);
      }
    }
    const std::uint32_t n_matches = longest_[trie_.base(0)].matches;
    if (n_matches > kMaxMatches) {
      return refuse_charsmap(
          fmt::format("{} of its keys are prefixes of one another, at most {} are allowed", n_matches, kMaxMatches));
    }
    return {};
  }

 private:
  struct Longest {
    /// Below the base: bytes of the longest key, and largest number of keys along one path.
    std::uint32_t bytes = 0, matches = 0;
    bool known = false;
  };
  struct Step {
    std::size_t base;
    std::uint32_t next_edge;
  };

  template <class Visit>
  void for_each_edge(const Visit& visit) const {
    for (std::size_t i = 0; i < trie_.size(); ++i) {
      if (!trie_.is_value(i)) visit(i ^ (trie_.unit(i) & 0xFF), static_cast<std::uint32_t>(i));
    }
  }
  void enter(std::size_t base) { path_.push_back({base, edges_at_[base]}); }
  /// Finishes the edge of `step`: the result below it is known.
  void take(Step& step, std::size_t below) {
    const std::uint32_t edge = edges_[step.next_edge++];
    Longest& here = longest_[step.base];
    here.bytes = std::max(here.bytes, longest_[below].bytes + 1);
    here.matches = std::max(here.matches, longest_[below].matches + (trie_.has_leaf(edge) ? 1 : 0));
  }
  void leave() {
    const std::size_t base = path_.back().base;
    longest_[base].known = true;
    path_.pop_back();
    if (!path_.empty()) take(path_.back(), base);
  }

  const Trie& trie_;
  std::vector<Longest> longest_;         // by base
  std::vector<std::uint32_t> edges_at_;  // by base: index in edges_ of its first edge
  std::vector<std::uint32_t> edges_;
  std::vector<Step> path_;
};

Result<void> check_texts(std::string_view texts) {
  if (texts.empty() || texts.back() != '\0') return refuse_charsmap("its texts are not terminated");
  for (std::size_t at = 0; at < texts.size();) {
    const std::size_t end = texts.find('\0', at);
    if (end - at > kMaxTextBytes)
      return refuse_charsmap(fmt::format("a text of {} bytes, at most {}", end - at, kMaxTextBytes));
    at = end + 1;
  }
  return {};
}

}  // namespace

Result<void> check_charsmap(std::string_view map) {
  if (map.empty()) return {};
  std::uint32_t trie_bytes = 0;
  if (map.size() < sizeof trie_bytes) return refuse_charsmap("truncated");
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  map.remove_prefix(sizeof trie_bytes);
  if (trie_bytes > map.size() || trie_bytes < kBlock * sizeof(std::uint32_t) || trie_bytes % sizeof(std::uint32_t) != 0) {
    return refuse_charsmap(fmt::format("a trie of {} bytes in {}", trie_bytes, map.size()));
  }
  if (trie_bytes > kMaxTrieBytes)
    return refuse_charsmap(fmt::format("a trie of {} bytes, at most {}", trie_bytes, kMaxTrieBytes));
  const std::string_view texts = map.substr(trie_bytes);
  LATHE_TRY_VOID(check_texts(texts));
  const Trie trie(map.substr(0, trie_bytes));
  LATHE_TRY_VOID(check_links(trie, texts.size()));
  return KeyWalk(trie).check();
}

Result<Charsmap> Charsmap::open(std::string_view map) {
  if (map.empty()) return refuse_charsmap("it is empty");
  LATHE_TRY_VOID(check_charsmap(map));
  std::uint32_t trie_bytes = 0;
  std::memcpy(&trie_bytes, map.data(), sizeof trie_bytes);
  Charsmap made;
  made.units_.resize(trie_bytes / sizeof(std::uint32_t));
  std::memcpy(made.units_.data(), map.data() + sizeof trie_bytes, trie_bytes);
  made.texts_ = map.substr(sizeof trie_bytes + trie_bytes);
  return made;
}

std::optional<std::string_view> Charsmap::replacement(std::string_view text) const {
  std::size_t base = base_of(units_[0], 0);
  for (const char c : text) {
    const std::size_t at = base ^ static_cast<unsigned char>(c);
    const std::uint32_t unit = units_[at];
    if ((unit & kLabelMask) != static_cast<unsigned char>(c)) return std::nullopt;
    base = base_of(unit, at);
    if ((unit & kHasLeaf) != 0) return std::string_view(texts_.data() + (units_[base] & kValueMask));
  }
  return std::nullopt;
}

}  // namespace lathe::engine
