// SPDX-License-Identifier: Apache-2.0
// PromptPace: limits the prompt tokens in steps with running answers, so that the answers are not held up.
#pragma once

#include <cstdint>

namespace lathe::engine {

/// Learns from the time of past steps. A step with answers should take the target, or twice the time of a step without
/// prompts if that is longer: then prompts get half of the time. Source: Agrawal et al. 2024 (Sarathi-Serve) bound prompt
/// chunks by a fixed budget for the same purpose; here the machine's speed sets it.
/// Thread: the engine's.
class PromptPace {
 public:
  /// target_ns 0: no limit.
  explicit PromptPace(std::int64_t target_ns) : target_ns_(target_ns) {}

  /// Most prompt tokens of the next step, if it has running answers.
  int max_tokens() const;
  /// Units: ns. The time that a step with answers should take.
  std::int64_t goal_ns() const;
  /// Records that a step with so many tokens of prompts and of answers took took_ns.
  void note_step(int n_prompt, int n_answer, std::int64_t took_ns);

 private:
  std::int64_t target_ns_;
  double answers_ns_ = 0;  ///< recent time of a step without prompts; 0: not yet known
  double n_tokens_ = 0;    ///< prompt tokens that fit into the goal; 0: not yet known
};

}  // namespace lathe::engine
