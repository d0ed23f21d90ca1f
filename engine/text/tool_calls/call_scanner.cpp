// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/call_scanner.h"

#include <algorithm>
#include <utility>

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxBlockBytes = 16u << 20;
constexpr std::size_t kMaxBorderBytes = 4096;
constexpr CallFormat kNoFormat = {.name = {}, .telltales = {}, .begins = {}, .wraps = {}, .bare = {}, .end = {}};

std::vector<std::string_view> markers_of(const CallFormat& format) {
  std::vector<std::string_view> markers(format.begins.begin(), format.begins.end());
  markers.insert(markers.end(), format.wraps.begin(), format.wraps.end());
  return markers;
}

}  // namespace

CallScanner::CallScanner(const CallFormat* format, ArgumentTypes types, DeltaList& out)
    : format_(format != nullptr ? format : &kNoFormat),
      types_(std::move(types)),
      out_(out),
      markers_(markers_of(*format_)),
      extent_(*format_) {}

void CallScanner::push(char byte) {
  if (in_block_) return push_inside(byte);
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  for (const char c : plain_) in_block_ ? push_inside(c) : push_outside(c);
  if (marker.empty()) return;
  const auto& begins = format_->begins;
  if (std::find(begins.begin(), begins.end(), marker) != begins.end()) open_block(marker);
  else add_border(marker);
}

void CallScanner::push_outside(char byte) {
  if (at_begin_ && format_->bare.find(byte) != std::string_view::npos) {
    open_block({});
    push_inside(byte);
  } else if (is_blank(byte) || (behind_call_ && byte == format_->separator)) {
    add_border({&byte, 1});
  } else {
    add_content({&byte, 1});
  }
}

void CallScanner::open_block(std::string_view beginning) {
  block_ = beginning;
  body_at_ = beginning.size();
  extent_ = BlockExtent(*format_);
  in_block_ = true;
}

void CallScanner::push_inside(char byte) {
  block_ += byte;
  const BlockExtent::State state = extent_.push(byte);
  if (state == BlockExtent::State::ended) return close_block(true);
  if (state == BlockExtent::State::open && block_.size() < kMaxBlockBytes) return;
  in_block_ = false;
  add_content(std::exchange(block_, {}));
}

/// The block's calls, or its text where it is none.
void CallScanner::close_block(bool by_marker) {
  in_block_ = false;
  const std::string block = std::exchange(block_, {});
  std::string_view body = std::string_view(block).substr(body_at_);
  if (by_marker) body.remove_suffix(format_->end.size());
  auto calls = format_->parse(body, types_);
  if (!calls) return add_content(block);
  border_.clear();
  for (ToolCall& call : *calls) out_.add(std::move(call));
  at_begin_ = behind_call_ = true;
}

void CallScanner::add_border(std::string_view text) {
  if (border_.size() + text.size() > kMaxBorderBytes) return add_content(text);
  border_ += text;
}

void CallScanner::add_content(std::string_view text) {
  if (!behind_call_) out_.add(AnswerDelta::Kind::content, border_);
  border_.clear();
  out_.add(AnswerDelta::Kind::content, text);
  at_begin_ = behind_call_ = false;
}

void CallScanner::finish() {
  if (in_block_) close_block(false);
  if (const std::string held = markers_.release(); !held.empty()) add_content(held);
  if (!behind_call_) out_.add(AnswerDelta::Kind::content, border_);
  border_.clear();
}

}  // namespace lathe::engine
