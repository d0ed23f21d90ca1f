// SPDX-License-Identifier: Apache-2.0
// ReasoningScanner: separates the reasoning of an answer from the text after it, which it passes to the call scanner.
#pragma once

#include <string>

#include "engine/text/tool_calls/call_scanner.h"
#include "engine/text/tool_calls/code_tracker.h"
#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_matcher.h"
#include "engine/text/tool_calls/reasoning_format.h"

namespace lathe::engine {

class ReasoningScanner {
 public:
  /// `format` may be null: then everything is passed on. Requires: `tokens`, `next` and `out` outlive this object.
  ReasoningScanner(const ReasoningFormat* format, bool begun, const MarkerTokens& tokens, CallScanner& next, DeltaList& out);

  void push(char byte);
  void push_token(std::string_view text);
  /// `cut`: see AnswerParser::finish.
  void finish(bool cut);

 private:
  enum class State : std::uint8_t {
    before,
    inside,
    quoted,  ///< after an end marker that a backtick on its line precedes: it is text if as many backticks follow
    behind
  };

  void enter(State state);
  void take(std::string_view marker);
  void take_before(std::string_view marker);
  void begin_behind_blanks();
  void take_inside(std::string_view marker);
  void take_behind(std::string_view marker);
  void push_quoted(char byte);
  void decide(bool is_code);
  void add_reasoning(std::string_view text);
  bool is_begin(std::string_view marker) const;

  const ReasoningFormat* format_;
  bool begun_;
  const MarkerTokens& tokens_;
  CallScanner& next_;
  DeltaList& out_;
  State state_ = State::behind;
  MarkerMatcher markers_;
  CodeTracker code_;             ///< code in the reasoning
  std::size_t ticks_ = 0;        ///< backticks of the current run
  std::size_t marker_size_ = 0;  ///< size of the marker at the front of border_ in State::quoted
  std::string plain_;            ///< bytes that the matcher released
  std::string border_;           ///< blanks at the beginning; in State::quoted the marker and everything after it
};

}  // namespace lathe::engine
