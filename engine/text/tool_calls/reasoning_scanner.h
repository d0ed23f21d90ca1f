// SPDX-License-Identifier: Apache-2.0
// Tells the reasoning at the beginning of an answer from what follows, which goes on to the scanner of calls.
#pragma once

#include <string>

#include "engine/text/tool_calls/call_scanner.h"
#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_matcher.h"
#include "engine/text/tool_calls/reasoning_format.h"

namespace lathe::engine {

class ReasoningScanner {
 public:
  /// `format` may be null: then all goes on. `next` and `out` must outlive this.
  ReasoningScanner(const ReasoningFormat* format, bool begun, CallScanner& next, DeltaList& out);

  void push(char byte);
  void finish();

 private:
  enum class State : std::uint8_t { before, inside, behind };

  void enter(State state);
  void push_before(std::string_view marker);
  bool is_begin(std::string_view marker) const;

  const ReasoningFormat* format_;
  bool begun_;
  CallScanner& next_;
  DeltaList& out_;
  State state_ = State::behind;
  MarkerMatcher markers_;
  std::string plain_;   ///< bytes that the matcher let go
  std::string border_;  ///< blanks at the beginning
};

}  // namespace lathe::engine
