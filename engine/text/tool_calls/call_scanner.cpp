// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/call_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxBlockBytes = 16u << 20;
constexpr std::size_t kMaxCallBorderBytes = 4096;
constexpr CallFormat kNoFormat = {.name = {}, .telltales = {}, .begins = {}, .wraps = {}, .bare = {}, .end = {}};

std::vector<std::string_view> outer_markers(const CallFormat& format) {
  std::vector<std::string_view> markers(format.begins.begin(), format.begins.end());
  markers.insert(markers.end(), format.wraps.begin(), format.wraps.end());
  return markers;
}

/// Returns the number of bytes at the end of `text` that are the beginning of the marker.
std::size_t beginning_at_end(std::string_view text, std::string_view marker) {
  for (std::size_t n = std::min(text.size(), marker.empty() ? 0 : marker.size() - 1); n > 0; --n) {
    if (text.ends_with(marker.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

CallScanner::CallScanner(const CallFormat* format, ArgumentTypes types, const MarkerTokens& tokens, DeltaList& out)
    : format_(format != nullptr ? format : &kNoFormat),
      types_(std::move(types)),
      tokens_(tokens),
      out_(out),
      markers_(outer_markers(*format_), tokens),
      extent_(*format_, tokens) {}

void CallScanner::push(char byte) {
  if (in_block_) return push_inside(byte);
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  push_plain(plain_);
  if (!marker.empty()) pass_marker(marker);
}

void CallScanner::push_token(std::string_view text) {
  if (in_block_) return push_inside_token(text);
  plain_.clear();
  const std::string_view marker = markers_.push_token(text, plain_);
  push_plain(plain_);
  if (!marker.empty()) pass_marker(marker);
}

void CallScanner::push_plain(std::string_view text) {
  for (const char c : text) in_block_ ? push_inside(c) : push_outside(c);
}

void CallScanner::push_outside(char byte) {
  if (is_undecided()) return push_undecided(byte);
  if (at_begin_ && format_->bare.find(byte) != std::string_view::npos) {
    open_block({});
    return push_inside(byte);
  }
  code_.push(byte);
  const bool is_border = is_blank(byte) || (behind_call_ && byte == format_->separator && byte != 0);
  if (is_border && format_ != &kNoFormat) add_border({&byte, 1});
  else add_content({&byte, 1});
}

/// Handles a marker. In a fenced block it is text. A call in a code span is text too, but a backtick without a closing one
/// opens no span.
void CallScanner::pass_marker(std::string_view marker) {
  if (is_undecided() && ticks_ > 0 && ticks_ == span_) decide(true);
  const auto& begins = format_->begins;
  const bool begins_block = std::find(begins.begin(), begins.end(), marker) != begins.end();
  if (!is_undecided() && code_.marker_in_fence()) {
    for (const char c : marker) code_.push(c);
    return add_content(marker);
  }
  if (!is_undecided()) code_.end_closed_fence();
  if (begins_block) {
    if (!is_undecided()) span_ = code_.open_span();
    return open_block(marker);
  }
  if (!is_undecided()) return pass_wraps(marker);
  ticks_ = 0;
  add_undecided(Quoted::Kind::wraps, marker);
}

void CallScanner::pass_wraps(std::string_view wraps) {
  for (const char c : wraps) code_.push(c);
  add_border(wraps);
  border_has_wrap_ = !border_.empty();
}

void CallScanner::open_block(std::string_view beginning) {
  block_ = beginning;
  block_tokens_.clear();
  body_at_ = beginning.size();
  extent_ = BlockExtent(*format_, tokens_);
  tags_.reset();
  if (format_->tags != nullptr) tags_.emplace(*format_, tokens_);
  in_block_ = true;
}

void CallScanner::push_inside(char byte) {
  block_ += byte;
  take_state(tags_ ? tags_->push(byte) : extent_.push(byte));
}

void CallScanner::push_inside_token(std::string_view text) {
  block_tokens_.push_back({block_.size() - body_at_, text.size()});
  block_ += text;
  take_state(tags_ ? tags_->push_token(text) : extent_.push_token(text));
}

void CallScanner::take_state(BlockExtent::State state) {
  if (state == BlockExtent::State::ended) return close_block();
  if (state == BlockExtent::State::broken || block_.size() >= kMaxBlockBytes) give_up_block();
}

/// Emits the block's calls, or its text if it is not a call.
void CallScanner::close_block() {
  std::string_view body = std::string_view(block_).substr(body_at_);
  std::optional<std::vector<ToolCall>> calls;
  if (tags_) {
    calls = tags_->calls(body, types_, false);
  } else {
    body.remove_suffix(format_->end.size());
    if (!block_tokens_.empty() && block_tokens_.back().at >= body.size()) block_tokens_.pop_back();
    calls = format_->parse({body, block_tokens_, &tokens_, false}, types_);
  }
  if (!calls || calls->empty()) return give_up_block();
  in_block_ = false;
  if (span_ == 0) return emit(std::move(*calls));
  quoted_bytes_ += block_.size();
  quoted_.push_back({Quoted::Kind::block, std::exchange(block_, {}), std::move(*calls)});
  ticks_ = 0;
}

/// Ends a block because the answer ends in it: complete calls count, and an incomplete call is dropped.
void CallScanner::close_open_block(bool cut) {
  std::string_view body = std::string_view(block_).substr(body_at_);
  std::optional<std::vector<ToolCall>> calls;
  if (!tags_) body.remove_suffix(beginning_at_end(body, format_->end));
  if (tags_) calls = tags_->calls(body, types_, cut);
  else calls = format_->parse({body, block_tokens_, &tokens_, true}, types_);
  const bool has_passed_end = tags_ ? tags_->has_passed_end() : extent_.has_passed_end();
  if (!calls || (calls->empty() && has_passed_end && !cut)) return give_up_block();
  in_block_ = false;
  if (is_undecided()) decide(false);
  if (in_block_) give_up_block();
  emit(std::move(*calls));
}

void CallScanner::give_up_block() {
  in_block_ = false;
  const std::string block = std::exchange(block_, {});
  if (is_undecided()) return push_plain(block);
  for (const char c : block) code_.push(c);
  add_content(block);
}

void CallScanner::emit(std::vector<ToolCall> calls) {
  border_.clear();
  border_has_wrap_ = false;
  block_.clear();
  span_ = 0;
  code_.reset();
  for (ToolCall& call : calls) out_.add(std::move(call));
  at_begin_ = behind_call_ = true;
}

/// Reads the text after a call that an open backtick precedes: as many backticks on the same line make the call an example.
void CallScanner::push_undecided(char byte) {
  if (byte == '`') {
    ++ticks_;
  } else if (ticks_ == span_) {
    decide(true);
    return push_outside(byte);
  } else {
    ticks_ = 0;
  }
  if (byte == '\n' || quoted_bytes_ >= kMaxBlockBytes) {
    decide(false);
    return push_plain({&byte, 1});
  }
  add_undecided(Quoted::Kind::text, {&byte, 1});
}

void CallScanner::add_undecided(Quoted::Kind kind, std::string_view text) {
  quoted_bytes_ += text.size();
  if (quoted_.back().kind != kind) quoted_.push_back({.kind = kind});
  quoted_.back().text += text;
}

void CallScanner::decide(bool is_code) {
  const std::vector<Quoted> quoted = std::exchange(quoted_, {});
  quoted_bytes_ = ticks_ = 0;
  for (const Quoted& part : quoted) {
    if (is_code) {
      add_content(part.text);
    } else if (part.kind == Quoted::Kind::block) {
      if (in_block_) give_up_block();
      emit(part.calls);
    } else if (part.kind == Quoted::Kind::wraps && !in_block_) {
      pass_wraps(part.text);
    } else {
      push_plain(part.text);
    }
  }
  span_ = 0;
  if (is_code) code_.close_span();
}

void CallScanner::add_border(std::string_view text) {
  if (border_.size() + text.size() > kMaxCallBorderBytes) return add_content(text);
  border_ += text;
}

void CallScanner::add_content(std::string_view text) {
  release_border();
  out_.add(AnswerDelta::Kind::content, text);
  at_begin_ = behind_call_ = false;
}

void CallScanner::interrupt() {
  push_plain(markers_.release());
  if (is_undecided()) decide(ticks_ > 0 && ticks_ == span_);
  if (in_block_) give_up_block();
  code_.end_closed_fence();
  release_border();
}

void CallScanner::release_border() {
  if (!behind_call_) out_.add(AnswerDelta::Kind::content, border_);
  border_.clear();
  border_has_wrap_ = false;
}

void CallScanner::finish(bool cut) {
  if (in_block_) close_open_block(cut);
  const std::string held = markers_.release();
  // If the answer was cut, the held beginning of a marker is not content. A wrap marker without calls after it never is.
  const bool is_half_marker = cut && (held.size() > 1 || border_has_wrap_ || behind_call_);
  if (!is_half_marker) push_plain(held);
  if (is_undecided()) decide(ticks_ > 0 && ticks_ == span_);
  if (in_block_) close_open_block(cut);
  if (!border_has_wrap_) release_border();
}

}  // namespace lathe::engine
