// SPDX-License-Identifier: Apache-2.0
// RequestBatch: requests that start together and are computed in lockstep, in a shape that remains until the last has ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/sequence.h"

namespace lathe::engine {

class Scheduler;

/// One row of the shape.
struct BatchSlot {
  Sequence* sequence = nullptr;  ///< null: the answer has ended, and the slot computes padding
  BlockTable table;              ///< blocks of an ended sequence; a running one holds its own
  int n_read = 0;                ///< rows of the prompt that were planned, padding included; up to the width of the batch
  int position = 0;              ///< position of the next row of padding, once the answer has ended
};

/// Prompts are padded to the longest of the batch, and an ended slot computes one more row a step, with logits, until the
/// last answer has ended: a tensor [batch, length] cannot shrink while it is in use. Padding is written after the tokens of
/// its own slot, where later tokens overwrite it; a causal model never reads it. A cancelled or failed request leaves its
/// slot to padding as well.
/// Owns: the blocks of ended slots.
/// Thread: the engine's.
class RequestBatch {
 public:
  explicit RequestBatch(int max_num_seqs) { slots_.reserve(static_cast<std::size_t>(max_num_seqs)); }

  bool is_empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  int n_living() const { return n_living_; }
  int width() const { return width_; }  ///< tokens to which prompts are padded
  /// True if a prompt is not yet read and padded.
  bool is_reading() const;
  std::span<BatchSlot> slots() { return slots_; }
  std::span<const BatchSlot> slots() const { return slots_; }

  /// Requires: no step of the batch has been planned.
  void add(Sequence& sequence);
  /// Removes the sequence; its blocks stay with the slot. False: it is not in this batch.
  bool vacate(Sequence& sequence);
  /// Requires: the blocks of all slots were given back.
  void clear();

 private:
  std::vector<BatchSlot> slots_;
  int n_living_ = 0;
  int width_ = 0;
};

/// Plans the next step of the running batch: prompts until all are read and padded, then a token for each slot. Requires:
/// the batch is not empty.
void plan_batch(Scheduler& step);

}  // namespace lathe::engine
