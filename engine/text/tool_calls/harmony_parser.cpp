// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/harmony_parser.h"

#include <algorithm>
#include <utility>

#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxHeaderBytes = 512;
constexpr std::size_t kMaxCallBytes = 16u << 20;
constexpr std::string_view kStart = kHarmonyMarkers[0], kChannel = kHarmonyMarkers[1], kConstrain = kHarmonyMarkers[2],
                           kMessage = kHarmonyMarkers[3], kEnd = kHarmonyMarkers[4], kCall = kHarmonyMarkers[5],
                           kReturn = kHarmonyMarkers[6];

/// Returns the word after `key` in a header, up to a blank or a marker; empty if the header does not have the key.
std::string_view word_behind(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == header.npos) return {};
  header.remove_prefix(at + key.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

bool ends_call(std::string_view marker) {
  return marker == kEnd || marker == kCall || marker == kReturn || marker == kStart;
}

}  // namespace

HarmonyParser::HarmonyParser(const AnswerReading& reading, const AnswerStops& stops)
    : MarkedParser(reading, stops), markers_(kHarmonyMarkers, tokens_) {}

void HarmonyParser::push(char byte) {
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  if (!plain_.empty()) add_plain(plain_);
  if (marker.empty()) return;
  if (is_in_text()) {
    has_passed_end_ = has_passed_end_ || (state_ == State::call && ends_call(marker));
    return add_plain(marker);
  }
  code_.end_closed_fence();
  add_marker(marker);
}

void HarmonyParser::push_token(std::string_view text) {
  plain_.clear();
  const std::string_view marker = markers_.push_token(text, plain_);
  if (!plain_.empty()) add_plain(plain_);
  if (!marker.empty()) add_marker(marker);
}

/// Half a header or half a call is no text of the answer. A call is no half if the answer ended by itself behind a marker
/// that ends calls: then a string of the call was not closed.
void HarmonyParser::end(bool cut) {
  if (const std::string held = markers_.release(); !held.empty() && !(cut && held.size() > 1)) add_plain(held);
  if (state_ == State::call) return end_call(cut || !has_passed_end_);
  if (state_ == State::between && !raw_.empty()) give_up();
}

/// Whether a marker that is spelled is a text of the message: in code, or in a string of a call's arguments.
bool HarmonyParser::is_in_text() const {
  if (state_ == State::call) return in_string_;
  if (state_ != State::message && state_ != State::bare) return false;
  return code_.marker_in_fence() || code_.is_behind_backtick();
}

void HarmonyParser::add_text(std::string_view text) {
  for (const char c : text) code_.push(c);
  deltas_.add(state_ == State::message ? kind_ : AnswerDelta::Kind::content, text);
}

void HarmonyParser::add_plain(std::string_view text) {
  switch (state_) {
    case State::between:
      // The prompt ends with <|start|>assistant, so an answer may begin with a recipient.
      raw_ += text;
      if (is_blank(raw_.front()) && std::string_view(" to=").starts_with(std::string_view(raw_).substr(0, 4))) {
        if (raw_.size() >= 4) state_ = State::header;
      } else {
        give_up();
      }
      return;
    case State::header:
      raw_ += text;
      if (raw_.size() > kMaxHeaderBytes) give_up();
      return;
    case State::call:
      for (const char c : text) {
        if (c == '"' && !escaped_) in_string_ = !in_string_;
        escaped_ = in_string_ && c == '\\' && !escaped_;
      }
      raw_ += text;
      if (raw_.size() > kMaxCallBytes) give_up();
      return;
    case State::message:
    case State::bare: return add_text(text);
  }
}

void HarmonyParser::add_marker(std::string_view marker) {
  if (state_ == State::call && !ends_call(marker)) return add_plain(marker);
  if (state_ == State::call) end_call(false);
  if (state_ == State::header && marker == kMessage) return begin_message();
  if (marker == kStart || marker == kChannel || (marker == kConstrain && state_ == State::header)) {
    if (state_ != State::header && state_ != State::between) raw_.clear();
    state_ = State::header;
    return add_plain(marker);
  }
  if (state_ == State::header) give_up();
  if (state_ == State::message && (marker == kMessage || marker == kConstrain)) return add_plain(marker);
  if (state_ == State::bare) add_plain(marker);
  if (state_ == State::message) state_ = State::between;
}

void HarmonyParser::begin_message() {
  const std::string_view channel = word_behind(raw_, kChannel), recipient = word_behind(raw_, "to=");
  const bool calls = recipient.starts_with("functions.") && channel != "final";
  kind_ = channel == "analysis" ? AnswerDelta::Kind::reasoning : AnswerDelta::Kind::content;
  tool_ = calls ? recipient.substr(10) : std::string_view();
  raw_ += kMessage;
  body_at_ = raw_.size();
  state_ = calls ? State::call : State::message;
  in_string_ = escaped_ = has_passed_end_ = false;
  code_.reset();
  if (!calls) raw_.clear();
}

/// `may_be_half`: the answer ends in the call, and half a call is dropped.
void HarmonyParser::end_call(bool may_be_half) {
  auto arguments = arguments_of_json(std::string_view(raw_).substr(body_at_));
  if (!arguments && may_be_half) return;
  if (!arguments || tool_.empty()) return give_up();
  deltas_.add(ToolCall{tool_, std::move(*arguments), {}});
  raw_.clear();
  state_ = State::between;
}

/// Turns the held header and call into content.
void HarmonyParser::give_up() {
  state_ = State::bare;
  code_.reset();
  add_text(std::exchange(raw_, {}));
}

}  // namespace lathe::engine
