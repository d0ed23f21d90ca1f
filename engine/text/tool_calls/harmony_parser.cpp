// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/harmony_parser.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/text/tool_calls/json_calls.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxHeaderBytes = 512;
constexpr std::size_t kMaxCallBytes = 16u << 20;
constexpr std::string_view kStart = "<|start|>", kChannel = "<|channel|>", kConstrain = "<|constrain|>",
                           kMessage = "<|message|>", kEnd = "<|end|>", kCall = "<|call|>", kReturn = "<|return|>";
constexpr std::array kMarkers = {kStart, kChannel, kConstrain, kMessage, kEnd, kCall, kReturn};

/// The word behind `key` in a header: up to a blank or a marker. Empty where there is no key.
std::string_view word_behind(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == header.npos) return {};
  header.remove_prefix(at + key.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

}  // namespace

HarmonyParser::HarmonyParser() : markers_(kMarkers) {}

std::vector<AnswerDelta> HarmonyParser::feed(std::string_view piece) {
  for (const char byte : piece) push(byte);
  return deltas_.take();
}

std::vector<AnswerDelta> HarmonyParser::finish() {
  if (const std::string held = markers_.release(); !held.empty()) add_plain(held);
  if (state_ == State::call) end_call();
  if (!raw_.empty()) give_up();
  return deltas_.take_all();
}

void HarmonyParser::push(char byte) {
  plain_.clear();
  const std::string_view marker = markers_.push(byte, plain_);
  if (!plain_.empty()) add_plain(plain_);
  if (!marker.empty()) add_marker(marker);
}

void HarmonyParser::add_plain(std::string_view text) {
  switch (state_) {
    case State::between:
      // The prompt ends with <|start|>assistant, so an answer may begin with a recipient.
      raw_ += text;
      if (is_blank(raw_.front()) && std::string_view(" to=").starts_with(std::string_view(raw_).substr(0, 4))) {
        if (raw_.size() >= 4) state_ = State::header;
      } else {
        state_ = State::bare;
        deltas_.add(AnswerDelta::Kind::content, std::exchange(raw_, {}));
      }
      return;
    case State::header:
      raw_ += text;
      if (raw_.size() > kMaxHeaderBytes) give_up();
      return;
    case State::call:
      raw_ += text;
      if (raw_.size() > kMaxCallBytes) give_up();
      return;
    case State::message: return deltas_.add(kind_, text);
    case State::bare: return deltas_.add(AnswerDelta::Kind::content, text);
  }
}

void HarmonyParser::add_marker(std::string_view marker) {
  if (state_ == State::call && marker != kEnd && marker != kCall && marker != kReturn && marker != kStart)
    return add_plain(marker);
  if (state_ == State::call) end_call();
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
  if (!calls) raw_.clear();
}

void HarmonyParser::end_call() {
  auto arguments = arguments_of_json(std::string_view(raw_).substr(body_at_));
  if (!arguments || tool_.empty()) return give_up();
  deltas_.add(ToolCall{tool_, std::move(*arguments), {}});
  raw_.clear();
  state_ = State::between;
}

/// What is kept is content after all.
void HarmonyParser::give_up() {
  state_ = State::bare;
  deltas_.add(AnswerDelta::Kind::content, std::exchange(raw_, {}));
}

}  // namespace lathe::engine
