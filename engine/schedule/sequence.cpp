// SPDX-License-Identifier: Apache-2.0
#include "engine/schedule/sequence.h"

namespace lathe::engine {

void SequenceQueue::push_back(Sequence& sequence) {
  sequence.previous = back_;
  sequence.next = nullptr;
  (back_ != nullptr ? back_->next : front_) = &sequence;
  back_ = &sequence;
  ++size_;
}

void SequenceQueue::push_front(Sequence& sequence) {
  sequence.previous = nullptr;
  sequence.next = front_;
  (front_ != nullptr ? front_->previous : back_) = &sequence;
  front_ = &sequence;
  ++size_;
}

void SequenceQueue::remove(Sequence& sequence) {
  (sequence.previous != nullptr ? sequence.previous->next : front_) = sequence.next;
  (sequence.next != nullptr ? sequence.next->previous : back_) = sequence.previous;
  sequence.previous = sequence.next = nullptr;
  --size_;
}

}  // namespace lathe::engine
