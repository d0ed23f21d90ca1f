// SPDX-License-Identifier: Apache-2.0
// AnswerConstraint: the constraint of one answer: which tokens are allowed next, and where it ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/api/sampling_params.h"
#include "engine/api/tokenizer.h"
#include "engine/sample/grammar/matcher.h"
#include "engine/sample/sampler.h"
#include "engine/serve/constraint_store.h"

namespace lathe::engine {

/// Reasoning is free; what follows it is constrained. End tokens are those of the model and the control tokens among
/// stop_token_ids. Thread: made on the caller's, then used by one at a time.
class AnswerConstraint {
 public:
  /// `suppressed_ids`: tokens that the sampler always masks. `reading` may be null. Requires: the tokenizer and `params`
  /// outlive the constraint.
  AnswerConstraint(ReadyConstraint constraint, const Tokenizer& tokenizer, std::span<const std::int32_t> eos_ids,
                   std::span<const std::int32_t> suppressed_ids, const SamplingParams& params, const AnswerReading* reading);

  /// Null: every token is allowed. Valid until accept().
  const AllowedTokens* allowed();
  void accept(std::int32_t token);
  /// The only token that can be next; -1: there is a choice. It changes with accept() alone.
  std::int32_t forced() const;
  /// The forced tokens of this answer may be appended without a step for each: nothing else of their logits is asked for.
  bool jumps_ahead() const { return constraint_.jump_ahead && !params_->logprobs; }

  /// The last token was an end token that the constraint allowed, or nothing can follow and the model has no end token.
  bool has_ended() const { return has_ended_; }
  /// The token with which it ended is text, as there is no end token. Requires: has_ended().
  bool ended_with_text() const { return end_ids_.empty(); }
  /// No token can follow, though the answer is not complete: the vocabulary cannot spell it, or it is too ambiguous.
  bool is_stuck() const { return is_stuck_; }
  /// Why. Requires: is_stuck().
  Error stuck_error() const;

  grammar::ConstraintKind kind() const { return constraint_.kind; }
  std::int64_t n_states() const { return static_cast<std::int64_t>(constraint_.automaton->nodes.size()); }
  std::int64_t compile_us() const { return constraint_.compile_us; }
  bool was_known() const { return was_known_; }

 private:
  void choose_beginning(const AnswerReading& reading);
  bool is_end_token(std::int32_t token) const;
  void read_free(std::int32_t token);
  bool has_forced_text() const { return n_forced_taken_ < forced_.size(); }
  void add_to_tail(std::int32_t token);
  void find_forced();

  const grammar::Constraint constraint_;
  const bool was_known_;
  const Tokenizer* tokenizer_;
  const SamplingParams* params_;
  grammar::Matcher matcher_;
  std::vector<std::int32_t> end_ids_;
  std::vector<std::int32_t> begin_ids_;     ///< tokens that begin the reasoning where the answer has not begun
  std::vector<std::string> free_ends_;      ///< markers that end the free part
  std::vector<std::int32_t> never_forced_;  ///< tokens that stages mask, the suppressed ones first, or that end an answer
  std::size_t n_suppressed_ = 0;
  std::string tail_;                  ///< last bytes of the free part, or of the constrained one
  std::vector<std::int32_t> forced_;  ///< tokens that must be next, from n_forced_taken_ on
  std::size_t n_forced_taken_ = 0;
  bool must_end_ = false;  ///< the only end token must be next
  std::vector<std::int32_t> and_also_;
  AllowedTokens allowed_;
  bool is_free_ = false, has_begun_ = false, has_ended_ = false, is_stuck_ = false;
};

}  // namespace lathe::engine
