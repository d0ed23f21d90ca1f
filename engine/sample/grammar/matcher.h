// SPDX-License-Identifier: Apache-2.0
// Matcher: how far one answer is in its grammar, and which tokens may be next.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sample/grammar/automaton.h"
#include "engine/sample/grammar/state_table.h"
#include "engine/sample/grammar/token_sets.h"
#include "engine/sample/grammar/vocabulary.h"

namespace lathe::engine::grammar {

/// Tokens that may be next.
struct TokenMask {
  std::vector<std::uint64_t> words;  ///< a bit for each logit; end tokens are not among them
  bool any = false;                  ///< some bit is set
  bool may_end = false;              ///< the answer is complete
};

/// Bytes of which each is the only one that can follow. Shapes: states [bytes + 1], those before and behind each byte.
struct ForcedBytes {
  std::string bytes;
  std::vector<std::int32_t> states;
};

/// The parts that all matchers of an engine share.
struct MatcherParts {
  std::shared_ptr<const Vocabulary> vocabulary;
  std::shared_ptr<TokenSetCache> sets;
};

/// Thread: one at a time. Owns: its states; a copy has states of its own. accept() and mask() take memory as they reach new
/// states, but keep no more than kMaxBytes.
class Matcher {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMaxRollback = 64;

  Matcher(std::shared_ptr<const Automaton> automaton, MatcherParts parts);

  /// Valid until the next call of a function that changes the matcher.
  const TokenMask& mask();
  /// Reads a token's bytes. False, without a change: they do not follow.
  bool accept(std::int32_t token);
  bool accept_bytes(std::string_view bytes);
  /// Takes back the last `n` accepted tokens. Requires: n <= n_kept().
  void rollback(std::size_t n);
  /// Tokens that can be taken back.
  std::size_t n_kept() const { return history_.size() - 1; }

  /// At most `max_bytes` bytes that must follow. They end where there is a choice, and where the text may end.
  ForcedBytes forced_bytes(std::size_t max_bytes);
  /// True if a token begins with `begin`, which is read up to `state`, and can go on from there.
  bool has_token_across(std::string_view begin, std::int32_t state);
  const Vocabulary& vocabulary() const { return *parts_.vocabulary; }

  bool may_end() const { return table_->accepts(history_.back()); }
  /// Nothing may follow but the end.
  bool must_end();
  std::size_t n_bytes() const { return table_->n_bytes(); }
  /// The grammar reads this answer in more ways than are followed.
  bool overflowed() const { return table_->overflowed(); }

  Matcher(const Matcher& other);
  Matcher& operator=(const Matcher&) = delete;

 private:
  int only_byte(std::int32_t state) const;
  void make_mask();
  void add_sets(const TokenSets& sets);
  void decide_open();
  void add_token(std::int32_t id) {
    mask_.words[static_cast<std::size_t>(id) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(id) % 64);
  }
  bool has_token(std::int32_t id) const {
    return (mask_.words[static_cast<std::size_t>(id) / 64] >> (static_cast<std::size_t>(id) % 64) & 1) != 0;
  }
  std::vector<TokenPlace> places() const;

  const std::shared_ptr<const Automaton> automaton_;
  const MatcherParts parts_;
  std::unique_ptr<StateTable> table_;
  std::vector<std::int32_t> history_;  ///< states, the current one last
  TokenMask mask_;
  std::int32_t mask_state_ = StateTable::kDead;  ///< the state that mask_ is of
  std::vector<std::uint32_t> open_;
  std::vector<std::int32_t> path_;
};

}  // namespace lathe::engine::grammar
