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

/// The tag that opens a call is one of them if there are tools: models leave out the marker before it.
std::vector<std::string_view> outer_markers(const CallFormat& format, bool has_tools) {
  std::vector<std::string_view> markers(format.begins.begin(), format.begins.end());
  markers.insert(markers.end(), format.wraps.begin(), format.wraps.end());
  if (format.tags != nullptr && has_tools) markers.push_back(format.tags->call_open);
  return markers;
}

std::size_t n_lines(std::string_view blanks) {
  return static_cast<std::size_t>(std::count(blanks.begin(), blanks.end(), '\n'));
}

/// Returns the blanks of a border, between its wraps and separators, that have most line breaks; the first ones of several.
std::string_view widest_break(std::string_view border) {
  std::string_view widest;
  while (!border.empty()) {
    const auto end = std::find_if_not(border.begin(), border.end(), is_blank);
    const std::string_view run = border.substr(0, static_cast<std::size_t>(end - border.begin()));
    if (widest.empty() || n_lines(run) > n_lines(widest)) widest = run;
    border.remove_prefix(std::min(run.size() + 1, border.size()));
  }
  return widest;
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
      markers_(outer_markers(*format_, types_.has_tools()), tokens),
      extent_(*format_, tokens) {}

void CallScanner::push(char byte) {
  if (in_block_) return push_inside(byte);
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  push_plain(std::string(plain_));  // a block that turns out to be no call is read again, which changes plain_
  if (!marker.empty()) pass_marker(marker);
}

void CallScanner::push_token(std::string_view text) {
  if (in_block_) return push_inside_token(text);
  plain_.clear();
  const std::string_view marker = markers_.push_token(text, plain_);
  push_plain(std::string(plain_));
  if (!marker.empty()) pass_marker(marker);
}

void CallScanner::push_plain(std::string_view text) {
  for (const char c : text) in_block_ ? push_inside(c) : push_outside(c);
}

void CallScanner::push_outside(char byte) {
  note_spelled_begin(byte);
  if (is_undecided()) return push_undecided(byte);
  if (at_begin_ && format_->bare.find(byte) != std::string_view::npos) {
    open_block({});
    return push_inside(byte);
  }
  if (at_begin_ && may_begin_name(byte)) {
    open_bare_block({});
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
  const bool is_bare = is_bare_tag(marker);
  const bool begins_block = is_bare || std::find(begins.begin(), begins.end(), marker) != begins.end();
  if (is_bare && behind_spelled_) return push_plain(marker);
  if (!is_undecided() && code_.marker_in_fence()) {
    for (const char c : marker) code_.push(c);
    return add_content(marker);
  }
  if (!is_undecided()) code_.end_closed_fence();
  if (begins_block) {
    if (!is_undecided()) span_ = code_.open_span();
    return is_bare ? open_bare_block(marker) : open_block(marker);
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
  is_bare_ = false;
}

/// Whether the marker is the tag that opens a call: outside of a block the begin marker before it is missing.
bool CallScanner::is_bare_tag(std::string_view marker) const {
  return format_->tags != nullptr && !marker.empty() && marker == format_->tags->call_open;
}

/// Whether the byte may begin the name of a tool in a format that has no tag before the name.
bool CallScanner::may_begin_name(char byte) const {
  const bool has_bare_names = format_->tags != nullptr && format_->tags->call_open.empty() && types_.has_tools();
  return has_bare_names && types_.may_name_tool({&byte, 1});
}

/// Opens a block without its begin marker. The tag, if the format has one, is the first part of its body.
void CallScanner::open_bare_block(std::string_view tag) {
  open_block({});
  tags_.emplace(*format_, tokens_, &types_);
  is_bare_ = true;
  if (tokens_.is_token(tag)) return push_inside_token(tag);
  for (const char c : tag) push_inside(c);
}

/// Notes a begin marker that is spelled where it is a token: it is a text, and so is the call behind it.
void CallScanner::note_spelled_begin(char byte) {
  static const MarkerTokens kNoTokens;
  if (spelled_begin_.push(byte, format_->begins.front(), kNoTokens)) behind_spelled_ = true;
  else if (!is_blank(byte)) behind_spelled_ = false;
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
  if (state == BlockExtent::State::broken && is_bare_) return give_up_bare_block();
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
  const std::string behind = take_text_behind_calls();
  const std::size_t token_size = behind.empty() ? 0 : size_of_last_token(block_.size() + behind.size());
  if (span_ == 0) {
    emit(std::move(*calls));
  } else {
    quoted_bytes_ += block_.size();
    quoted_.push_back({Quoted::Kind::block, std::exchange(block_, {}), std::move(*calls)});
    ticks_ = 0;
  }
  push_again(behind, token_size);
}

/// Removes what was read behind the calls of a block without a begin marker, which may end without an end marker.
std::string CallScanner::take_text_behind_calls() {
  if (!is_bare_) return {};
  std::string behind = block_.substr(tags_->size_of_calls());
  block_.resize(tags_->size_of_calls());
  return behind;
}

/// Returns the size of the token that a block of `size` bytes without a begin marker ends with; 0: it ends with none.
std::size_t CallScanner::size_of_last_token(std::size_t size) const {
  const bool ends_with_token = !block_tokens_.empty() && block_tokens_.back().at + block_tokens_.back().size == size;
  return ends_with_token ? block_tokens_.back().size : 0;
}

/// Reads bytes of a closed block as text. `token_size`: of the token that they end with; 0: they end with none.
void CallScanner::push_again(std::string_view text, std::size_t token_size) {
  const std::string_view bytes = text.substr(0, text.size() - token_size);
  for (const char c : bytes) push(c);
  if (token_size > 0) push_token(text.substr(bytes.size()));
}

/// Ends a block because the answer ends in it: complete calls count, and an incomplete call is dropped.
void CallScanner::close_open_block(bool cut) {
  std::string_view body = std::string_view(block_).substr(body_at_);
  std::optional<std::vector<ToolCall>> calls;
  if (!tags_) body.remove_suffix(beginning_at_end(body, format_->end));
  if (tags_) calls = tags_->calls(body, types_, cut);
  else calls = format_->parse({body, block_tokens_, &tokens_, true}, types_);
  const bool has_passed_end = tags_ ? tags_->has_passed_end() : extent_.has_passed_end();
  const bool is_text = is_bare_ && !tags_->has_begun_call() && (!cut || format_->tags->call_open.empty());
  if (!calls || (calls->empty() && ((has_passed_end && !cut) || is_text))) return give_up_block();
  in_block_ = false;
  const std::string behind = cut || calls->empty() ? std::string() : take_text_behind_calls();
  if (is_undecided()) decide(false);
  if (in_block_) give_up_block();
  emit(std::move(*calls));
  push_again(behind, 0);
}

void CallScanner::give_up_block() {
  in_block_ = false;
  const std::string block = std::exchange(block_, {});
  if (is_undecided()) return push_plain(block);
  for (const char c : block) code_.push(c);
  add_content(block);
}

/// Gives up a block without a begin marker: its tag is a text, and what was read behind it may have markers.
void CallScanner::give_up_bare_block() {
  in_block_ = at_begin_ = false;
  const std::string block = std::exchange(block_, {});
  const std::size_t tag_size = format_->tags->call_open.size(), token_size = size_of_last_token(block.size());
  push_plain(std::string_view(block).substr(0, tag_size));
  push_again(std::string_view(block).substr(tag_size), token_size);
}

void CallScanner::emit(std::vector<ToolCall> calls) {
  keep_break();
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
  out_.add(AnswerDelta::Kind::content, std::exchange(break_, {}));
  out_.add(AnswerDelta::Kind::content, text);
  at_begin_ = behind_call_ = false;
  has_content_ = true;
}

void CallScanner::interrupt() {
  push_plain(markers_.release());
  if (is_undecided()) decide(ticks_ > 0 && ticks_ == span_);
  if (in_block_) give_up_block();
  code_.end_closed_fence();
  release_border();
}

/// Keeps the break next to a call for the content after it: of several breaks the one with most lines, the first of equal
/// ones.
void CallScanner::keep_break() {
  const std::string_view widest = widest_break(border_);
  if (has_content_ && (break_.empty() || n_lines(widest) > n_lines(break_))) break_ = widest;
}

void CallScanner::release_border() {
  if (behind_call_) keep_break();
  else out_.add(AnswerDelta::Kind::content, border_);
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
