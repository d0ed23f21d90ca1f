// SPDX-License-Identifier: Apache-2.0
// RequestBatch: requests that start together and are computed in lockstep, in a shape that stays until the last has ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule/sequence.h"

namespace lathe::engine {

class Scheduler;

/// One row of the shape.
struct BatchSlot {
  Sequence* sequence = nullptr;  ///< null: its answer has ended, and what the slot computes is padding
  BlockTable table;              ///< of an ended one; before that the sequence holds it
  int n_read = 0;                ///< rows of the prompt, padding included; up to the width of the batch
  int position = 0;              ///< of an ended one: where the next row of its padding goes
};

/// Prompts are padded to the longest of the batch, and an ended slot goes on computing one row a step, its logits too, until
/// the last answer has ended. So it is with a tensor [batch, length], which cannot shrink while it is in use. Padding is
/// written behind the tokens of its own slot, where a later token takes its place; a causal model never reads it.
/// A cancelled or failed request leaves its slot to the padding as well.
/// Owns: the blocks of ended slots.
/// Thread: the engine's.
class RequestBatch {
 public:
  explicit RequestBatch(int max_num_seqs) { slots_.reserve(static_cast<std::size_t>(max_num_seqs)); }

  bool is_empty() const { return slots_.empty(); }
  int size() const { return static_cast<int>(slots_.size()); }
  int n_living() const { return n_living_; }
  int width() const { return width_; }  ///< tokens to which prompts are padded
  /// Some prompt is not yet read, or not yet padded.
  bool is_reading() const;
  std::span<BatchSlot> slots() { return slots_; }
  std::span<const BatchSlot> slots() const { return slots_; }

  /// Requires: no step of the batch was planned yet.
  void add(Sequence& sequence);
  /// The sequence leaves, its blocks stay with the slot. False: it is not of this batch.
  bool vacate(Sequence& sequence);
  /// After the blocks of all slots were given back.
  void clear();

 private:
  std::vector<BatchSlot> slots_;
  int n_living_ = 0;
  int width_ = 0;
};

/// The next step of the running batch: prompts until all are read and padded, then a token for each slot.
/// Requires: the batch is not empty.
void plan_batch(Scheduler& step);

}  // namespace lathe::engine
