// SPDX-License-Identifier: Apache-2.0
// Tells tool calls from the content around them, byte by byte.
#pragma once

#include <string>

#include "engine/text/tool_calls/block_extent.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_matcher.h"

namespace lathe::engine {

class CallScanner {
 public:
  /// `format` may be null: then all is content. `out` must outlive this.
  CallScanner(const CallFormat* format, ArgumentTypes types, DeltaList& out);

  void push(char byte);
  void finish();

 private:
  void push_outside(char byte);
  void open_block(std::string_view beginning);
  void push_inside(char byte);
  void close_block(bool by_marker);
  void add_border(std::string_view text);
  void add_content(std::string_view text);

  const CallFormat* format_;
  ArgumentTypes types_;
  DeltaList& out_;
  MarkerMatcher markers_;
  BlockExtent extent_;
  std::string plain_;   ///< bytes that the matcher let go, before they are looked at
  std::string border_;  ///< blanks and wraps that are content, unless a call stands beside them
  std::string block_;   ///< of an open block, all its bytes
  std::size_t body_at_ = 0;
  bool in_block_ = false;
  bool at_begin_ = true;      ///< of the answer, or of a text behind a call
  bool behind_call_ = false;  ///< nothing but border since a call
};

}  // namespace lathe::engine
