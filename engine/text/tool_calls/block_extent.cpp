// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/block_extent.h"

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxHead = 256;  ///< bytes before the value: a name

}  // namespace

BlockExtent::State BlockExtent::push(char byte) {
  const bool by_value = rule_ == BlockEnd::json_value || rule_ == BlockEnd::bracketed;
  State state = State::open;
  if (rule_ == BlockEnd::marker) {
    state = push_marker(byte);
  } else if (track_string(byte)) {
    matched_ = 0;
  } else {
    state = push_value(byte);
    if (!by_value) state = push_marker(byte);
  }
  if (n_bytes_ > 0 || !is_blank(byte)) ++n_bytes_;
  if (by_value && depth_ == 0 && state == State::open && n_bytes_ > kMaxHead) return State::broken;
  return state;
}

/// Whether the byte belongs to a string of the value, which it may open or close.
bool BlockExtent::track_string(char byte) {
  if (quote_ != 0) {
    if (escaped_) escaped_ = false;
    else if (byte == '\\') escaped_ = true;
    else if (byte == quote_) quote_ = 0;
    return true;
  }
  const bool is_quote = byte == '"' || (byte == '\'' && rule_ == BlockEnd::bracketed);
  if (!is_quote || depth_ == 0 || (opening_ != 0 && !may_follow_opening(byte))) return false;
  quote_ = byte;
  opening_ = 0;
  return true;
}

bool BlockExtent::opens(char byte) const {
  if (byte == '{') return true;
  if (byte == '[') return depth_ > 0 || n_bytes_ == 0 || rule_ == BlockEnd::marker_outside_strings;
  return byte == '(' && depth_ > 0 && rule_ == BlockEnd::bracketed;
}

/// A list holds calls and an object begins with a key, so that an answer that merely begins with a bracket is not held back.
bool BlockExtent::may_follow_opening(char byte) const {
  if (rule_ == BlockEnd::marker_outside_strings || is_blank(byte)) return true;
  if (rule_ == BlockEnd::bracketed) return byte == '_' || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
  return opening_ == '[' ? byte == '{' : byte == '"' || byte == '}';
}

BlockExtent::State BlockExtent::push_value(char byte) {
  if (opening_ != 0) {
    if (!may_follow_opening(byte)) return State::broken;
    if (!is_blank(byte)) opening_ = 0;
  }
  if (opens(byte)) {
    if (depth_++ == 0) opening_ = byte;
  } else if (depth_ > 0 && (byte == '}' || byte == ']' || (byte == ')' && rule_ == BlockEnd::bracketed))) {
    if (--depth_ == 0) return State::ended;
  }
  return State::open;
}

BlockExtent::State BlockExtent::push_marker(char byte) {
  matched_ = byte == end_[matched_] ? matched_ + 1 : byte == end_.front() ? 1 : 0;
  return matched_ == end_.size() ? State::ended : State::open;
}

}  // namespace lathe::engine
