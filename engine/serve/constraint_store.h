// SPDX-License-Identifier: Apache-2.0
// ConstraintStore: the compiled constraints of an engine, and what their matchers share.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "engine/api/tokenizer.h"
#include "engine/sample/grammar/matcher.h"
#include "engine/sample/grammar/structured_outputs.h"

namespace lathe::engine {

/// A constraint that a request may use.
struct ReadyConstraint {
  grammar::Constraint constraint;
  grammar::MatcherParts parts;
  bool was_known = false;  ///< it was not compiled for this request
};

/// Constraints are known by their text; the least recently used go first. Everything is in memory alone.
/// Thread: any; a constraint is compiled on the caller's thread, without a lock.
class ConstraintStore {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{32} << 20;

  /// `n_logits`: entries of a row of logits. Requires: the tokenizer outlives the store.
  ConstraintStore(const Tokenizer& tokenizer, std::int64_t n_logits);

  /// Errors: those of compile_constraint().
  Result<ReadyConstraint> get(const std::string& text);

 private:
  struct Entry {
    std::string text;
    grammar::Constraint constraint;
    std::size_t n_bytes() const { return text.size() + constraint.automaton->n_bytes(); }
  };

  const Tokenizer* tokenizer_;
  const std::int64_t n_logits_;
  const std::uint64_t salt_;
  std::once_flag made_vocabulary_;
  grammar::MatcherParts parts_;
  std::mutex mutex_;
  std::list<Entry> entries_;  ///< the last used first
  std::unordered_map<std::string, std::list<Entry>::iterator> index_;
  std::size_t n_bytes_ = 0;
};

}  // namespace lathe::engine
