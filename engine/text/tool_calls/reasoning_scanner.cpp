// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/reasoning_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxBorderBytes = 4096;

}  // namespace

ReasoningScanner::ReasoningScanner(const ReasoningFormat* format, bool begun, CallScanner& next, DeltaList& out)
    : format_(format), begun_(begun), next_(next), out_(out), markers_({}) {
  if (format_ != nullptr) enter(State::before);
}

void ReasoningScanner::enter(State state) {
  state_ = state;
  std::vector<std::string_view> markers;
  const auto add = [&](const auto& some) { markers.insert(markers.end(), some.begin(), some.end()); };
  if (state == State::before) add(format_->begins);
  if (state == State::inside || (state == State::before && begun_)) add(format_->ends);
  if (state == State::behind) add(format_->wraps);
  markers_ = MarkerMatcher(markers);
}

bool ReasoningScanner::is_begin(std::string_view marker) const {
  return std::find(format_->begins.begin(), format_->begins.end(), marker) != format_->begins.end();
}

void ReasoningScanner::push(char byte) {
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  if (state_ == State::before) return push_before(marker);
  if (state_ == State::inside) out_.add(AnswerDelta::Kind::reasoning, plain_);
  else
    for (const char c : plain_) next_.push(c);
  if (!marker.empty() && state_ == State::inside) enter(State::behind);
}

/// Blanks and a marker keep to the beginning; the first other character decides what the answer begins with.
void ReasoningScanner::push_before(std::string_view marker) {
  border_ += plain_;
  if (!marker.empty()) {
    border_.clear();
    return enter(is_begin(marker) ? State::inside : State::behind);
  }
  if (border_.size() <= kMaxBorderBytes && std::all_of(plain_.begin(), plain_.end(), is_blank)) return;
  const std::string text = std::exchange(border_, {}) + markers_.release();
  enter(begun_ ? State::inside : State::behind);
  for (const char c : text) push(c);
}

void ReasoningScanner::finish() {
  const std::string held = std::exchange(border_, {}) + markers_.release();
  const bool reasons = state_ == State::inside || (state_ == State::before && begun_);
  if (reasons) out_.add(AnswerDelta::Kind::reasoning, held);
  else
    for (const char c : held) next_.push(c);
  next_.finish();
}

}  // namespace lathe::engine
