// SPDX-License-Identifier: Apache-2.0
// BatchBuilder: makes the BatchPlan of a step from the rows of its sequences. The scheduler, the warm-up, the scorer, the
// embedder and calibration plan their steps with it; no other code of the engine fills a BatchPlan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/cache/block_table.h"
#include "engine/schedule/batch_plan.h"

namespace lathe::engine {

/// Geometry of the KV cache, and the largest step for which memory is reserved. A larger step allocates more.
struct BatchShape {
  int block_size = 16;
  std::size_t n_windows = 0;  ///< window groups
  std::size_t max_rows = 0, max_seqs = 0, max_logit_rows = 0;
  std::size_t max_blocks = 0;  ///< blocks of the longest sequence in one group
};

/// Rows of one sequence: its tokens at positions begin, begin + 1, ..., and rows of padding at the positions after them.
/// Indices of rows with logits count from the sequence's first row.
struct SequenceRows {
  const BlockTable& table;
  std::span<const std::int32_t> token_ids{};  ///< of these rows alone
  int begin = 0;                              ///< position of the first row
  int n_padding = 0;
  int first_logit = 0;  ///< rows [first_logit, first_logit + n_logits) need logits
  int n_logits = 0;
  bool takes_best = false;   ///< of the last row with logits, only the best token is needed
  bool takes_state = false;  ///< of the last row with logits, only the hidden state is needed
  int second_begin = 0;      ///< position from which tokens belong to the second text of a pair; 0: there is one text
  std::int32_t rope_choice = 0;

  int n_rows() const { return static_cast<int>(token_ids.size()) + n_padding; }
  int context_len() const { return begin + n_rows(); }
};

/// A step is built by clear(), add() for each sequence, and finish(). Memory is reused: a step within the BatchShape
/// allocates nothing.
/// Requires: of each sequence at least one row, rows with logits among its rows, and a table that holds the blocks of all of
/// its context_len() tokens in each group, those of the rows not given back.
/// Invariant: after finish(), is_consistent(plan(), block_size). Builds with LATHE_DCHECK check both.
class BatchBuilder {
 public:
  BatchBuilder() = default;
  explicit BatchBuilder(const BatchShape& shape);

  void clear();
  /// Appends a sequence. Its table is read until finish(), its token ids only here. Returns the index of its first row of
  /// logits among those of the step.
  int add(const SequenceRows& rows);
  /// Completes the block tables. The plan is valid until the next clear().
  const BatchPlan& finish();

  /// The plan of the last finish().
  const BatchPlan& plan() const { return plan_; }

 private:
  int blocks_for(int n_tokens) const { return (n_tokens + block_size_ - 1) / block_size_; }
  void append_slots(const BlockRow& row, const SequenceRows& rows, std::vector<std::int32_t>& slots) const;
  void append_block_row(const BlockRow& row, int n_blocks, std::vector<std::int32_t>& block_tables) const;
  bool is_complete(const SequenceRows& rows) const;
  bool holds_context(const BlockRow& row, const SequenceRows& rows) const;

  int block_size_ = 16;
  BatchPlan plan_;
  std::vector<const BlockTable*> tables_;  ///< of the sequences, between clear() and finish()
};

/// True if the members have the sizes and the order that BatchPlan states, positions end at the context's length, and each
/// row's slot is the one that its sequence's block table gives for its position, in every group.
bool is_consistent(const BatchPlan& plan, int block_size);

}  // namespace lathe::engine
