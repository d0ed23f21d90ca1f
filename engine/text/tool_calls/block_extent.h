// SPDX-License-Identifier: Apache-2.0
// BlockExtent: finds the end of a block of tool calls, byte by byte.
#pragma once

#include <cstdint>

#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/marker_progress.h"

namespace lathe::engine {

class BlockExtent {
 public:
  enum class State : std::uint8_t {
    open,
    ended,  ///< the block ended with this byte or token
    broken  ///< no continuation can make the block a call
  };

  /// Requires: `format` and `tokens` outlive this object.
  BlockExtent(const CallFormat& format, const MarkerTokens& tokens)
      : rule_(format.end_rule),
        head_(format.head),
        end_(format.end),
        closing_(closing_marker(format)),
        quote_mark_(format.quote),
        tokens_(&tokens) {}

  State push(char byte);
  /// Adds a token that is a marker of the call format or of the reasoning format.
  State push_token(std::string_view text);
  /// Whether a marker that ends blocks has come and did not end this one: it is in a string that may never have been closed.
  bool has_passed_end() const { return has_passed_end_; }

 private:
  State push_value(char byte);
  State push_head(char byte);
  bool track_string(char byte);
  bool track_quotes(char byte);
  bool opens(char byte) const;
  bool may_follow_opening(char byte) const;
  bool ends_by_value() const { return rule_ == BlockEnd::json_value || rule_ == BlockEnd::bracketed; }

  BlockEnd rule_;
  BlockHead head_;
  std::string_view end_, closing_, quote_mark_;
  const MarkerTokens* tokens_;
  std::size_t n_bytes_ = 0;  ///< bytes before the current one, without blanks at the beginning
  std::size_t depth_ = 0;
  MarkerProgress end_progress_;      ///< outside of strings
  MarkerProgress closing_progress_;  ///< everywhere
  MarkerProgress quote_progress_;
  char opening_ = 0;  ///< the bracket that has just opened the value
  char quote_ = 0;    ///< of the string that is open
  bool escaped_ = false;
  bool in_head_ = true;         ///< before the value
  bool is_quoted_ = false;      ///< inside a text between quote markers
  bool quote_may_end_ = false;  ///< behind a marker that closes the text if a separator follows it
  bool has_passed_end_ = false;
};

}  // namespace lathe::engine
