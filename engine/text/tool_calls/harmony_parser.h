// SPDX-License-Identifier: Apache-2.0
// HarmonyParser: reads answers of gpt-oss, which are messages with a channel and perhaps a recipient. Source: OpenAI's
// description of the harmony format.
#pragma once

#include <array>
#include <string>

#include "engine/text/tool_calls/code_tracker.h"
#include "engine/text/tool_calls/marked_parser.h"
#include "engine/text/tool_calls/marker_matcher.h"

namespace lathe::engine {

inline constexpr std::array<std::string_view, 7> kHarmonyMarkers = {
    "<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"};

class HarmonyParser final : public MarkedParser {
 public:
  HarmonyParser(const AnswerReading& reading, const AnswerStops& stops);

 private:
  enum class State : std::uint8_t {
    between,  ///< between messages: a header follows, or text without one
    header,
    message,  ///< a message of reasoning or content, passed on as it arrives
    call,     ///< a message to a function, held until it is complete
    bare      ///< text without a header
  };

  void push(char byte) override;
  void push_token(std::string_view text) override;
  void end(bool cut) override;

  bool is_in_text() const;
  void add_plain(std::string_view text);
  void add_marker(std::string_view marker);
  void add_text(std::string_view text);
  void begin_message();
  void end_call(bool may_be_half);
  void give_up();

  State state_ = State::between;
  AnswerDelta::Kind kind_ = AnswerDelta::Kind::content;  ///< kind of the current message
  MarkerMatcher markers_;
  CodeTracker code_;  ///< state of code in the current message
  std::string plain_;
  std::string raw_;          ///< header and call as they arrived: they are content if they turn out not to be a call
  std::size_t body_at_ = 0;  ///< index in raw_ of the call's body
  std::string tool_;
  bool in_string_ = false, escaped_ = false;  ///< of the call's JSON
  bool has_passed_end_ = false;               ///< a marker that ends calls is in a string of that JSON
};

}  // namespace lathe::engine
