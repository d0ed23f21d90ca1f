// SPDX-License-Identifier: Apache-2.0
// SnapshotRule: after which tokens of a sequence a snapshot of its recurrent states is taken.
#pragma once

namespace lathe::engine {

/// All snapshots are at ends of blocks, since only there lookups find K and V. A sequence that reads given tokens has them
/// at
/// - the last end of a block that a lookup of the same tokens can use: there a repeated prompt continues, and the next turn
/// of
///   a chat whose answer was not kept;
/// - the end of what was found of K and V but had no snapshot: where prompts part that begin alike. Source: Pan et al. 2024
///   (Marconi), which admits the states of branch points;
/// - multiples of an interval of at least 512 tokens, with at most kMaxIntervals in a prompt, so that a long prompt does not
///   evict all others. An interval is the smallest one doubled, so the borders of prompts of different lengths coincide.
/// An answer has one each kAnswerTokens tokens, which takes the slot of the one before, so that it holds one at a time. A
/// copy writes what one step of the recurrence writes anyway; once in 64 steps that is less than 2 % of the memory traffic
/// of the states, and less of the step's.
struct SnapshotRule {
  static constexpr int kPromptTokens = 512, kMaxIntervals = 4, kAnswerTokens = 64;
  /// No step has more snapshots of one sequence: those of intervals, the last end of a block, and the branch.
  static constexpr int kMaxOfStep = kMaxIntervals + 2;

  int block_size = 16;
  int n_tokens = 0;        ///< of the sequence
  bool in_prefill = true;  ///< given tokens are read
  int branch = 0;          ///< tokens whose K and V were found at the admission

  /// Least multiple of the interval.
  int interval() const;
  /// The first border after position `n`; the largest int: there is none.
  int next(int n) const;
};

}  // namespace lathe::engine
