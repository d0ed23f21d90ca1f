// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/request_batch.h"

#include <algorithm>
#include <utility>

#include "engine/schedule/scheduler.h"

namespace lathe::engine {

bool RequestBatch::is_reading() const {
  return std::any_of(slots_.begin(), slots_.end(), [this](const BatchSlot& slot) { return slot.n_read < width_; });
}

void RequestBatch::add(Sequence& sequence) {
  BatchSlot& slot = slots_.emplace_back();
  slot.sequence = &sequence;
  ++n_living_;
  width_ = std::max(width_, sequence.n_tokens());
}

bool RequestBatch::vacate(Sequence& sequence) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const BatchSlot& s) { return s.sequence == &sequence; });
  if (slot == slots_.end()) return false;
  slot->sequence = nullptr;
  slot->position = sequence.n_computed;
  std::swap(slot->table, sequence.table);
  --n_living_;
  return true;
}

void RequestBatch::clear() {
  slots_.clear();
  n_living_ = width_ = 0;
}

namespace {

/// Plans the next rows of one slot's prompt, and padding after its end. False: the step has no space left for this slot.
bool plan_reading(Scheduler& step, BatchSlot& slot) {
  const int n_left = step.batch().width() - slot.n_read;
  if (step.budget() == 0 || (!step.may_split_prompts() && n_left > step.budget())) return false;
  const int n_unread = slot.sequence == nullptr ? 0 : std::max(0, slot.sequence->n_prompt - slot.sequence->n_computed);
  const int n_tokens = n_unread == 0 ? 0 : step.chunk_of(*slot.sequence);
  if (n_unread > 0 && n_tokens == 0) return false;
  const int n_padding = n_tokens < n_unread ? 0 : std::min(n_left, step.budget()) - n_tokens;
  if (n_tokens > 0) {
    step.schedule(*slot.sequence, n_tokens, n_padding);
  } else {
    step.pad_prompt(slot, n_padding);
  }
  slot.n_read += n_tokens + n_padding;
  return true;
}

}  // namespace

void plan_batch(Scheduler& step) {
  RequestBatch& batch = step.batch();
  if (batch.is_reading()) {
    // No slot generates before all prompts are read: in a tensor [batch, length] the next column is the same for all.
    for (BatchSlot& slot : batch.slots()) {
      if (slot.n_read < batch.width() && !plan_reading(step, slot)) return;
    }
    return;
  }
  for (BatchSlot& slot : batch.slots()) {
    if (slot.sequence != nullptr) {
      step.schedule(*slot.sequence, step.chunk_of(*slot.sequence));
    } else {
      step.pad_answer(slot);
    }
  }
}

}  // namespace lathe::engine
