// SPDX-License-Identifier: Apache-2.0
// TextCursor: reads a grammar's or an expression's text character by character, and keeps the first error with its position.
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "engine/api/result.h"

namespace lathe::engine::grammar {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  bool at_end() const { return at_ >= text_.size(); }
  std::size_t position() const { return at_; }
  void go_to(std::size_t position) { at_ = position; }
  /// The next byte; 0 at the end.
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  std::string_view rest() const { return text_.substr(at_); }
  std::string_view text() const { return text_; }
  void skip(std::size_t n = 1) { at_ += n; }
  bool take(char wanted) {
    if (at_end() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view wanted) {
    if (!rest().starts_with(wanted)) return false;
    at_ += wanted.size();
    return true;
  }
  /// The next character; refuses bytes that are no UTF-8. Requires: not at the end.
  char32_t take_character();
  /// A number of `n` hexadecimal digits; refuses others.
  char32_t take_hex(int n);
  /// A decimal number up to 2^30; nothing: there is no digit. Refuses larger ones.
  std::optional<std::int32_t> take_number();

  void refuse(std::string_view message) { refuse_at(at_, message); }
  void refuse_at(std::size_t position, std::string_view message) {
    if (!error_) error_ = Error{ErrorCode::invalid_argument, fmt::format("at byte {}: {}", position, message), {}};
  }
  bool failed() const { return error_.has_value(); }
  const std::optional<Error>& error() const { return error_; }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::optional<Error> error_;
};

}  // namespace lathe::engine::grammar
