// SPDX-License-Identifier: Apache-2.0
// TokenSets: what is known of all tokens at one place of a grammar, without what surrounds its rule; and the cache of these.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/sample/grammar/automaton.h"
#include "engine/sample/grammar/vocabulary.h"

namespace lathe::engine::grammar {

/// A node at which a token may begin, and how far the counted rule around it is.
struct TokenPlace {
  std::int32_t node = 0;
  std::int32_t counted = -1;  ///< >= 0: the counted rule of which the node's rule is the body
  std::int32_t count = 0;     ///< iterations that are complete
};

/// Units: `accepted` has a bit for each logit, or, of few tokens, their ids; `open` has indices of the vocabulary's order.
struct TokenSets {
  std::vector<std::uint64_t> accepted;  ///< tokens that stay inside; empty: see accepted_ids
  std::vector<std::int32_t> accepted_ids;
  std::vector<std::uint32_t> open;  ///< tokens that leave the rule: what follows it decides. Ascending
  std::size_t n_bytes() const {
    return sizeof(TokenSets) + accepted.size() * sizeof(accepted[0]) + accepted_ids.size() * sizeof(accepted_ids[0]) +
           open.size() * sizeof(open[0]);
  }
};

/// Walks the whole vocabulary.
TokenSets find_token_sets(const Automaton& automaton, const Vocabulary& vocabulary, const TokenPlace& place);

/// The cache of token sets of all grammars of an engine: equal rules share them. The least recently used go first.
/// Thread: any.
class TokenSetCache {
 public:
  explicit TokenSetCache(std::size_t max_bytes = std::size_t{64} << 20) : max_bytes_(max_bytes) {}

  std::shared_ptr<const TokenSets> get(const Automaton& automaton, const Vocabulary& vocabulary, const TokenPlace& place);
  std::size_t n_bytes() const;

 private:
  struct Key {
    std::uint64_t content = 0;
    std::int32_t node = 0, to_min = 0, to_max = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Entry {
    Key key;
    std::shared_ptr<const TokenSets> sets;
  };
  static Key key_of(const Automaton& automaton, const TokenPlace& place);

  const std::size_t max_bytes_;
  mutable std::mutex mutex_;
  std::list<Entry> entries_;  ///< the last used first
  std::unordered_map<Key, std::list<Entry>::iterator, KeyHash> index_;
  std::size_t n_bytes_ = 0;
};

}  // namespace lathe::engine::grammar
