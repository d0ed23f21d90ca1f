// SPDX-License-Identifier: Apache-2.0
// Finds where a block of tool calls ends, byte by byte.
#pragma once

#include <cstdint>

#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {

class BlockExtent {
 public:
  enum class State : std::uint8_t {
    open,
    ended,  ///< with this byte
    broken  ///< whatever comes, it will be no call
  };

  explicit BlockExtent(const CallFormat& format) : rule_(format.end_rule), end_(format.end) {}

  State push(char byte);

 private:
  State push_value(char byte);
  State push_marker(char byte);
  bool track_string(char byte);
  bool opens(char byte) const;
  bool may_follow_opening(char byte) const;

  BlockEnd rule_;
  std::string_view end_;
  std::size_t n_bytes_ = 0;  ///< before this one, without blanks at the beginning
  std::size_t depth_ = 0;
  std::size_t matched_ = 0;  ///< bytes of the end marker
  char opening_ = 0;         ///< the bracket that has just opened the value
  char quote_ = 0;           ///< of the string that is open
  bool escaped_ = false;
};

}  // namespace lathe::engine
