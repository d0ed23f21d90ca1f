// SPDX-License-Identifier: Apache-2.0
// BatchPlan: the rows of one step, grouped by sequence, in the form that the model reads.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/api/recurrent.h"

namespace lathe::engine {

/// Slots and block tables of the rows in the layers of one window group.
struct WindowRows {
  std::vector<std::int32_t> slots;         ///< [M]
  std::vector<std::int32_t> block_tables;  ///< [n_seqs, max_blocks], padded with -1
};

/// Made by BatchBuilder, which checks the invariants. Shapes: M rows in n_seqs sequences. The vectors are reused from step
/// to step: a step allocates nothing. Invariant: each sequence has at least one row; its rows are the last tokens of its
/// context, in the order of positions.
struct BatchPlan {
  std::vector<std::int32_t> token_ids;        ///< [M]
  std::vector<std::int32_t> positions;        ///< [M]
  std::vector<std::int32_t> token_types;      ///< [M], 1: a token of the second text of a pair; else 0
  std::vector<std::int32_t> slots;            ///< [M], block * block_size + offset where the row's K and V go
  std::vector<std::int32_t> query_start;      ///< [n_seqs + 1], first row of each sequence
  std::vector<std::int32_t> context_len;      ///< [n_seqs], tokens after this step
  std::vector<std::int32_t> rope_choices;     ///< [n_seqs], index in RunnerLimits::rope_contexts
  std::vector<std::int32_t> block_tables;     ///< [n_seqs, max_blocks], padded with -1
  std::vector<std::int32_t> state_slots;      ///< [n_seqs], slot of the states of recurrent layers; -1: there are none
  std::vector<std::int32_t> state_sources{};  ///< [n_seqs], slot of the state to begin with: the own one, or a snapshot's
  std::vector<kernels::StateSnapshot> snapshots{};  ///< that the step writes, ascending by sequence and row
  std::vector<std::int32_t> n_padding;  ///< [n_seqs], last rows of the sequence that are padding: they advance no state
  std::int32_t max_blocks = 0;
  std::vector<WindowRows> windows{};       ///< one for each window group
  std::vector<std::int32_t> logit_rows;    ///< [R], rows that need logits, ascending
  std::vector<std::uint8_t> takes_best{};  ///< [R], 1: only the best token of those logits is needed; empty: none

  std::vector<std::uint8_t> takes_state{};  ///< [R], 1: the hidden state of the row is needed, and no logits; empty: none

  int n_rows() const { return static_cast<int>(token_ids.size()); }
  int n_seqs() const { return static_cast<int>(context_len.size()); }
  void clear() {
    token_ids.clear();
    positions.clear();
    token_types.clear();
    slots.clear();
    query_start.clear();
    context_len.clear();
    rope_choices.clear();
    block_tables.clear();
    state_slots.clear();
    state_sources.clear();
    snapshots.clear();
    n_padding.clear();
    for (WindowRows& rows : windows) {
      rows.slots.clear();
      rows.block_tables.clear();
    }
    logit_rows.clear();
    takes_best.clear();
    takes_state.clear();
    max_blocks = 0;
  }
};

}  // namespace lathe::engine
