// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/code_tracker.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxIndent = 3, kMinFence = 3;

}  // namespace

void CodeTracker::push(char byte) {
  if (byte == '\n') return end_line();
  switch (phase_) {
    case Phase::indent:
      if (byte == ' ' && ++indent_ <= kMaxIndent) return;
      if ((byte == '`' || byte == '~') && indent_ <= kMaxIndent) {
        phase_ = Phase::run;
        run_ = byte;
        run_size_ = 1;
        return;
      }
      phase_ = Phase::text;
      return push_text(byte);
    case Phase::run: return push_run(byte);
    case Phase::info:
      if (fence_size_ > 0) {  // behind a fence that may close the block, nothing but blanks
        if (byte != ' ' && byte != '\t' && byte != '\r') phase_ = Phase::text;
      } else if (byte == '`' && run_ == '`') {  // the line has a code span and opens no block
        phase_ = Phase::text;
        span_ = run_size_;
        push_text(byte);
      }
      return;
    case Phase::text: return push_text(byte);
  }
}

void CodeTracker::push_run(char byte) {
  if (byte == run_) {
    ++run_size_;
    return;
  }
  phase_ = run_size_ >= kMinFence ? Phase::info : Phase::text;
  if (phase_ == Phase::text && fence_size_ == 0 && run_ == '`') span_ = run_size_;
  push(byte);
}

void CodeTracker::push_text(char byte) {
  if (fence_size_ > 0) return;
  if (byte == '`' && !escaped_) {
    ++ticks_;
    return;
  }
  end_run();
  escaped_ = byte == '\\' && !escaped_ && span_ == 0;
}

/// A run opens a span, or closes the one that was opened by as many.
void CodeTracker::end_run() {
  if (ticks_ > 0 && span_ == 0) span_ = ticks_;
  else if (ticks_ > 0 && span_ == ticks_) span_ = 0;
  ticks_ = 0;
}

bool CodeTracker::closes_fence() const {
  return fence_size_ > 0 && run_ == fence_ && run_size_ >= fence_size_ && (phase_ == Phase::run || phase_ == Phase::info);
}

void CodeTracker::end_line() {
  if (opens_fence()) {
    fence_ = run_;
    fence_size_ = run_size_;
  } else if (closes_fence()) {
    fence_size_ = 0;
  }
  phase_ = Phase::indent;
  run_ = 0;
  indent_ = run_size_ = ticks_ = span_ = 0;
  escaped_ = false;
}

bool CodeTracker::marker_in_fence() {
  if (closes_fence()) end_line();
  return fence_size_ > 0 || opens_fence();
}

std::size_t CodeTracker::open_span() const {
  if (fence_size_ > 0) return 0;
  if (phase_ == Phase::run) return run_ == '`' ? run_size_ : 0;
  if (ticks_ == 0) return span_;
  return span_ == 0 ? ticks_ : span_ == ticks_ ? 0 : span_;
}

void CodeTracker::close_span() {
  phase_ = Phase::text;
  ticks_ = span_ = 0;
  escaped_ = false;
}

}  // namespace lathe::engine
