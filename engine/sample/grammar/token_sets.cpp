// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/token_sets.h"

#include <algorithm>

#include "engine/sample/grammar/content_key.h"
#include "engine/sample/grammar/state_table.h"

namespace lathe::engine::grammar {
namespace {

/// Iterations of a counted rule that one token is followed through; a token of more is decided with its context.
constexpr std::int32_t kHorizon = 24;
/// Accepted tokens up to which their ids are kept in place of a bit for each token.
constexpr std::size_t kFewTokens = 1024;

/// Units: iterations, at most one more than the horizon, beyond which no token can tell them apart.
std::int32_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(to - from, 0, kHorizon + 1));
}

struct Walk {
  const Vocabulary& vocabulary;
  StateTable& table;
  TokenSets& sets;

  void open(std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t token = first; token < last; ++token) sets.open.push_back(token);
  }

  void run(std::int32_t start) {
    const auto nodes = vocabulary.nodes();
    std::vector<std::int32_t> path(vocabulary.longest() + 1, start);
    std::vector<char> has_left(vocabulary.longest() + 1, 0);  // the context decides what the token's rest may be
    for (std::size_t i = 0; i < nodes.size();) {
      const Vocabulary::Node& node = nodes[i];
      const std::size_t above = node.depth - 1U;
      const std::int32_t state = table.next(path[above], node.byte);
      if (state == StateTable::kDead) {
        if (has_left[above]) open(node.first_token, vocabulary.first_token(node.end));
        i = node.end;
        continue;
      }
      path[node.depth] = state;
      has_left[node.depth] = has_left[above] != 0 || table.escapes(state);
      for (std::uint32_t token = node.first_token; token < vocabulary.own_end(i); ++token)
        sets.accepted_ids.push_back(vocabulary.id(token));
      ++i;
    }
  }
};

}  // namespace

TokenSets find_token_sets(const Automaton& automaton, const Vocabulary& vocabulary, const TokenPlace& place) {
  TokenSets sets;
  StateTable table(automaton, place.count, kHorizon);
  std::int32_t origin = StateTable::kOutside;
  if (place.counted >= 0) origin = table.at_counted(place.counted, place.count);
  Walk{vocabulary, table, sets}.run(table.at_node(place.node, origin));
  if (sets.accepted_ids.size() > kFewTokens) {
    sets.accepted.assign(vocabulary.n_words(), 0);
    for (const std::int32_t id : sets.accepted_ids)
      sets.accepted[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(id) % 64);
    sets.accepted_ids = {};
  }
  sets.accepted_ids.shrink_to_fit();
  sets.open.shrink_to_fit();
  return sets;
}

std::size_t TokenSetCache::KeyHash::operator()(const Key& key) const {
  return mixed(mixed(key.content, static_cast<std::uint64_t>(key.node)),
               static_cast<std::uint64_t>(key.to_min) << 32 | static_cast<std::uint32_t>(key.to_max));
}

/// Rules that use themselves are known by the whole grammar and their number; others by what they contain.
TokenSetCache::Key TokenSetCache::key_of(const Automaton& automaton, const TokenPlace& place) {
  const std::int32_t number = automaton.nodes[static_cast<std::size_t>(place.node)].rule;
  const Automaton::Rule& rule = automaton.rules[static_cast<std::size_t>(number)];
  Key key{.content = rule.content != 0 ? rule.content : mixed(automaton.hash, static_cast<std::uint64_t>(number)),
          .node = place.node - rule.start,
          .to_min = -1,
          .to_max = -1};
  if (place.counted < 0) return key;
  const Automaton::Rule& counted = automaton.rules[static_cast<std::size_t>(place.counted)];
  key.to_min = distance(place.count, counted.min);
  key.to_max = counted.max < 0 ? -2 : distance(place.count, counted.max);
  return key;
}

std::shared_ptr<const TokenSets> TokenSetCache::get(const Automaton& automaton, const Vocabulary& vocabulary,
                                                    const TokenPlace& place) {
  const Key key = key_of(automaton, place);
  {
    const std::lock_guard lock(mutex_);
    const auto found = index_.find(key);
    if (found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      return found->second->sets;
    }
  }
  auto made = std::make_shared<const TokenSets>(find_token_sets(automaton, vocabulary, place));
  const std::lock_guard lock(mutex_);
  if (const auto found = index_.find(key); found != index_.end()) return found->second->sets;
  entries_.push_front({key, made});
  index_[key] = entries_.begin();
  n_bytes_ += made->n_bytes();
  while (n_bytes_ > max_bytes_ && entries_.size() > 1) {
    n_bytes_ -= entries_.back().sets->n_bytes();
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
  return made;
}

std::size_t TokenSetCache::n_bytes() const {
  const std::lock_guard lock(mutex_);
  return n_bytes_;
}

}  // namespace lathe::engine::grammar
