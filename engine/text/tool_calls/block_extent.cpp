// SPDX-License-Identifier: Apache-2.0
#include "engine/text/tool_calls/block_extent.h"

#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxHead = 256;  ///< bytes of a name before the value

bool is_name_character(char c) {
  const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return letter || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == ':' || c == '-' || static_cast<signed char>(c) < 0;
}

}  // namespace

BlockExtent::State BlockExtent::push(char byte) {
  State state = State::open;
  if (rule_ == BlockEnd::marker_outside_quotes ? track_quotes(byte) : track_string(byte)) {
    end_progress_.reset();
  } else {
    state = push_head(byte);
    if (state == State::open) state = push_value(byte);
    if (state == State::open && !ends_by_value() && end_progress_.push(byte, end_, *tokens_)) state = State::ended;
  }
  if (closing_progress_.push(byte, closing_, *tokens_) && state == State::open) has_passed_end_ = true;
  if (n_bytes_ > 0 || !is_blank(byte)) ++n_bytes_;
  if (depth_ == 0 && in_head_ && state == State::open && n_bytes_ > kMaxHead) return State::broken;
  return state;
}

BlockExtent::State BlockExtent::push_token(std::string_view text) {
  n_bytes_ += text.size();
  end_progress_.reset();
  closing_progress_.reset();
  quote_progress_.reset();
  in_head_ = false;
  if (!quote_mark_.empty() && text == quote_mark_) {
    quote_may_end_ = is_quoted_;
    is_quoted_ = true;
    return State::open;
  }
  const bool is_text = quote_ != 0 || (is_quoted_ && !quote_may_end_);
  if (!is_text && text == end_ && !ends_by_value()) return State::ended;
  has_passed_end_ = has_passed_end_ || text == closing_;
  return State::open;
}

/// Takes the bytes before the value: blanks, and a name up to a marker.
BlockExtent::State BlockExtent::push_head(char byte) {
  if (!in_head_ || is_blank(byte)) return State::open;
  const bool may_have_name = head_ != BlockHead::json;
  if (byte == '{' || (byte == '[' && head_ != BlockHead::name)) in_head_ = n_bytes_ > 0 && byte == '[';
  else if (byte == '<' && (head_ == BlockHead::name || n_bytes_ > 0)) in_head_ = false;
  else if (!may_have_name || (!is_name_character(byte) && byte != ']')) return State::broken;
  return State::open;
}

/// Returns whether the byte belongs to a string of the value, which it may open or close.
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

/// Returns whether the byte belongs to a text between quote markers. A text closes only if a separator, or the bracket after
/// the text, follows its quote marker.
bool BlockExtent::track_quotes(char byte) {
  if (is_quoted_ && quote_may_end_ && !is_blank(byte)) {
    is_quoted_ = byte != ',' && byte != ':' && byte != '}' && byte != ']';
    quote_may_end_ = false;
    if (!is_quoted_) quote_progress_.reset();
  }
  if (quote_progress_.push(byte, quote_mark_, *tokens_)) {
    quote_may_end_ = is_quoted_;
    is_quoted_ = true;
    return true;
  }
  return is_quoted_;
}

bool BlockExtent::opens(char byte) const {
  if (byte == '{') return true;
  if (byte == '[') return depth_ > 0 || n_bytes_ == 0 || !ends_by_value();
  return byte == '(' && depth_ > 0 && rule_ == BlockEnd::bracketed;
}

/// Returns whether the byte may follow the opening bracket: a list must hold calls and an object must begin with a key, so
/// that an answer that merely begins with a bracket is not held back.
bool BlockExtent::may_follow_opening(char byte) const {
  if (!ends_by_value() || is_blank(byte)) return true;
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
    if (--depth_ == 0 && ends_by_value()) return State::ended;
  }
  return State::open;
}

}  // namespace lathe::engine
