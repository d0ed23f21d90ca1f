// SPDX-License-Identifier: Apache-2.0
// PromptPace: how many prompt tokens a step may read beside running answers, so that the answers are not held up.
#pragma once

#include <cstdint>

namespace lathe::engine {

/// Learns from what steps took. A step beside answers should take the target, or twice what it takes without prompts where
/// that is more: then prompts get half of the time. Source: Agrawal et al. 2024 (Sarathi-Serve) bound prompt chunks by a
/// fixed budget for the same end; here the machine's speed sets it.
/// Thread: the engine's.
class PromptPace {
 public:
  /// target_ns 0: any chunk.
  explicit PromptPace(std::int64_t target_ns) : target_ns_(target_ns) {}

  /// Prompt tokens that the next step may read beside running answers.
  int max_tokens() const;
  /// Units: ns that a step beside answers should take.
  std::int64_t goal_ns() const;
  /// A step with so many tokens of prompts and of answers took that long.
  void note_step(int n_prompt, int n_answer, std::int64_t took_ns);

 private:
  std::int64_t target_ns_;
  double answers_ns_ = 0;  ///< a step without prompts, of late; 0: not yet seen
  double n_tokens_ = 0;    ///< that fit; 0: not yet known
};

}  // namespace lathe::engine
