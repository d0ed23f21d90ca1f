// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/code_tracker.h"

#include <algorithm>
#include <string_view>

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxIndent = 3, kMaxIndentInItem = 7, kMaxGap = 4, kTab = 4;
constexpr std::size_t kMinFence = 3, kMaxDigits = 9, kMaxItems = 32;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_bullet(char c) { return c == '-' || c == '*' || c == '+'; }
bool is_fence(char c) { return c == '`' || c == '~'; }

}  // namespace

void CodeTracker::push(char byte) {
  if (byte == '\n') return end_line();
  switch (phase_) {
    case Phase::front: return push_front(byte);
    case Phase::number: return push_number(byte);
    case Phase::mark: return push_mark(byte);
    case Phase::run: return push_run(byte);
    case Phase::info: return push_info(byte);
    case Phase::text: return push_text(byte);
  }
}

void CodeTracker::push_front(char byte) {
  if (byte == '\r') return;
  if (byte == ' ' || byte == '\t') {
    column_ += byte == ' ' ? 1 : kTab - column_ % kTab;
    return;
  }
  if (fence_size_ > 0) return push_front_of_fence(byte);
  if (mark_end_ > 0) open_item();
  leave_items(byte);
  if (column_ > (in_item() ? items_.back().column + kMaxIndentInItem : quote_column_ + kMaxIndent)) return begin_text(byte);
  if (byte == '>') return begin_quote();
  if (is_fence(byte)) return begin_run(byte);
  if (!is_digit(byte) && !is_bullet(byte)) return begin_text(byte);
  phase_ = is_digit(byte) ? Phase::number : Phase::mark;
  n_digits_ = 1;
  ++column_;
}

/// A line of a fenced block, up to a fence that may close it. The block ends with the quote that it is in.
void CodeTracker::push_front_of_fence(char byte) {
  if (byte == '>' && n_quotes_ < fence_quotes_) return begin_quote();
  if (leaves_quoted_fence()) {
    fence_size_ = fence_quotes_ = 0;
    return push_front(byte);
  }
  if (is_fence(byte) && column_ <= fence_limit_) begin_run(byte);
  else begin_text(byte);
}

void CodeTracker::push_number(char byte) {
  const bool goes_on = is_digit(byte) && n_digits_ < kMaxDigits;
  if (!goes_on && byte != '.' && byte != ')') return begin_text(byte);
  ++column_;
  ++n_digits_;
  if (!goes_on) phase_ = Phase::mark;
}

void CodeTracker::push_mark(char byte) {
  if (byte != ' ' && byte != '\t' && byte != '\r') return begin_text(byte);
  mark_end_ = column_;
  phase_ = Phase::front;
  push_front(byte);
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

void CodeTracker::push_info(char byte) {
  if (fence_size_ > 0) {  // behind a fence that may close the block, nothing but blanks
    if (byte != ' ' && byte != '\t' && byte != '\r') phase_ = Phase::text;
  } else if (byte == '`' && run_ == '`') {  // the line has a code span and opens no block
    phase_ = Phase::text;
    span_ = run_size_;
    push_text(byte);
  }
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

void CodeTracker::begin_run(char byte) {
  phase_ = Phase::run;
  run_ = byte;
  run_size_ = 1;
}

void CodeTracker::begin_text(char byte) {
  phase_ = Phase::text;
  push_text(byte);
}

void CodeTracker::begin_quote() {
  ++n_quotes_;
  ++column_;
  quote_column_ = column_ + 1;
}

/// The item's text begins in this column, or one behind the mark if it begins with code that is indented.
void CodeTracker::open_item() {
  const std::size_t column = column_ - mark_end_ > kMaxGap ? mark_end_ + 1 : column_;
  if (items_.size() < kMaxItems) items_.push_back({std::max(column, mark_end_ + 1), n_quotes_});
  mark_end_ = 0;
}

/// Closes the items that the line is not indented enough for. A text without a blank line before it goes on with theirs.
void CodeTracker::leave_items(char byte) {
  const bool begins = byte == '>' || is_fence(byte) || is_digit(byte) || is_bullet(byte);
  if (!begins && !behind_blank_) return;
  const auto is_left = [&](const Item& item) {
    return item.n_quotes == n_quotes_ ? column_ < item.column : item.n_quotes > n_quotes_ && byte != '>';
  };
  items_.erase(std::find_if(items_.begin(), items_.end(), is_left), items_.end());
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
    fence_quotes_ = n_quotes_;
    fence_limit_ = in_item() ? column_ + kMaxIndent : quote_column_ + kMaxIndent;
  } else if (fence_size_ > 0 && ends_fence()) {
    fence_size_ = fence_quotes_ = 0;
  }
  if (phase_ == Phase::mark) mark_end_ = column_;
  behind_blank_ = phase_ == Phase::front && mark_end_ == 0;
  if (mark_end_ > 0) {
    column_ = mark_end_;
    open_item();
  }
  phase_ = Phase::front;
  run_ = 0;
  column_ = quote_column_ = n_quotes_ = run_size_ = ticks_ = span_ = 0;
  escaped_ = false;
}

void CodeTracker::end_closed_fence() {
  if (fence_size_ > 0 && ends_fence()) end_line();
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
