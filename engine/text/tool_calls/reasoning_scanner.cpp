// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/reasoning_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxReasoningBorderBytes = 4096;

}  // namespace

ReasoningScanner::ReasoningScanner(const ReasoningFormat* format, bool begun, const MarkerTokens& tokens, CallScanner& next,
                                   DeltaList& out)
    : format_(format), begun_(begun), tokens_(tokens), next_(next), out_(out) {
  if (format_ != nullptr) enter(State::before);
}

/// Enters a state and selects its markers. After the reasoning a begin marker opens another reasoning only if it is a token:
/// a model that spells the marker may be quoting it.
void ReasoningScanner::enter(State state) {
  state_ = state;
  std::vector<std::string_view> markers;
  const auto add = [&](const auto& some) { markers.insert(markers.end(), some.begin(), some.end()); };
  if (state == State::before) add(format_->begins);
  if (state == State::inside || (state == State::before && begun_)) add(format_->ends);
  if (state == State::behind) {
    add(format_->wraps);
    for (const std::string_view begin : format_->begins) {
      if (tokens_.head_of(begin) > 0) markers.push_back(begin);
    }
  }
  markers_ = MarkerMatcher(markers, tokens_);
}

bool ReasoningScanner::is_begin(std::string_view marker) const {
  return std::find(format_->begins.begin(), format_->begins.end(), marker) != format_->begins.end();
}

void ReasoningScanner::push(char byte) {
  if (state_ == State::quoted) return push_quoted(byte);
  plain_.clear();
  take(markers_.push(byte, plain_));
}

void ReasoningScanner::push_token(std::string_view text) {
  if (state_ == State::quoted) decide(ticks_ > 0 && ticks_ == code_.open_span());
  plain_.clear();
  const std::string_view marker = markers_.push_token(text, plain_);
  const bool is_other = marker.empty() && plain_.ends_with(text);
  if (!is_other || state_ == State::inside) return take(marker);
  plain_.resize(plain_.size() - text.size());
  take({});
  if (state_ == State::behind) return next_.push_token(text);
  begin_behind_blanks();
  push_token(text);
}

/// Handles plain_ and the marker after it, if there is one.
void ReasoningScanner::take(std::string_view marker) {
  switch (state_) {
    case State::before: return take_before(marker);
    case State::inside: return take_inside(marker);
    case State::quoted: return;
    case State::behind: return take_behind(marker);
  }
}

/// Handles the beginning of an answer: blanks are held until a marker or another character follows; the other character
/// starts the answer, inside the reasoning if begun_.
void ReasoningScanner::take_before(std::string_view marker) {
  border_ += plain_;
  if (!marker.empty()) {
    border_.clear();
    return enter(is_begin(marker) ? State::inside : State::behind);
  }
  if (border_.size() > kMaxReasoningBorderBytes || !std::all_of(plain_.begin(), plain_.end(), is_blank))
    begin_behind_blanks();
}

void ReasoningScanner::begin_behind_blanks() {
  const std::string text = std::exchange(border_, {}) + markers_.release();
  enter(begun_ ? State::inside : State::behind);
  for (const char c : text) push(c);
}

/// Handles reasoning. An end marker that is spelled in text counts only outside of code.
void ReasoningScanner::take_inside(std::string_view marker) {
  add_reasoning(plain_);
  if (marker.empty()) return;
  if (tokens_.head_of(marker) == 0) {
    if (code_.marker_in_fence()) return add_reasoning(marker);
    code_.end_closed_fence();
    if (code_.open_span() > 0) {
      border_ = marker;
      marker_size_ = marker.size();
      ticks_ = 0;
      state_ = State::quoted;
      return;
    }
  }
  enter(State::behind);
}

/// A wrap that is a token is never a text. A begin marker, which is a token here, is one in a block of calls and in a fence.
void ReasoningScanner::take_behind(std::string_view marker) {
  for (const char c : plain_) next_.push(c);
  if (marker.empty()) return;
  const bool begins = is_begin(marker), is_token = tokens_.head_of(marker) > 0;
  if (begins ? next_.in_block_or_fence() : !is_token && !next_.in_plain_text()) {
    for (const char c : marker) next_.push(c);
    return;
  }
  if (!begins) return next_.pass_other_marker();
  next_.interrupt();
  code_.reset();
  enter(State::inside);
}

void ReasoningScanner::push_quoted(char byte) {
  if (byte == '`') {
    ++ticks_;
  } else if (ticks_ == code_.open_span()) {
    decide(true);
    return push(byte);
  } else {
    ticks_ = 0;
  }
  border_ += byte;
  if (byte == '\n' || border_.size() > kMaxReasoningBorderBytes) decide(false);
}

/// Decides about the marker in border_: it is text in a code span (`is_code`), or it ends the reasoning.
void ReasoningScanner::decide(bool is_code) {
  const std::string text = std::exchange(border_, {});
  ticks_ = 0;
  enter(is_code ? State::inside : State::behind);
  if (is_code) {
    out_.add(AnswerDelta::Kind::reasoning, text);
    code_.close_span();
    return;
  }
  for (const char c : std::string_view(text).substr(marker_size_)) push(c);
}

void ReasoningScanner::add_reasoning(std::string_view text) {
  for (const char c : text) code_.push(c);
  out_.add(AnswerDelta::Kind::reasoning, text);
}

void ReasoningScanner::finish(bool cut) {
  if (state_ == State::quoted) decide(ticks_ > 0 && ticks_ == code_.open_span());
  if (markers_.held_begins_with_token()) markers_.release();
  const std::string held = std::exchange(border_, {}) + markers_.release();
  const bool reasons = state_ == State::inside || (state_ == State::before && begun_);
  if (reasons) out_.add(AnswerDelta::Kind::reasoning, held);
  else
    for (const char c : held) next_.push(c);
  next_.finish(cut);
}

}  // namespace lathe::engine
