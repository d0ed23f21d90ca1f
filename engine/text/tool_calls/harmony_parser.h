// SPDX-License-Identifier: Apache-2.0
// Answers of gpt-oss: messages with a channel and perhaps a recipient. Source: OpenAI's description of the harmony format.
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
    between,  ///< messages: a header follows, or text without one
    header,
    message,  ///< of reasoning or content, passed on as it comes
    call,     ///< a message to a function, kept until it is whole
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
  AnswerDelta::Kind kind_ = AnswerDelta::Kind::content;  ///< of the message
  MarkerMatcher markers_;
  CodeTracker code_;  ///< of the message
  std::string plain_;
  std::string raw_;          ///< the header and the call as they came: content if they are no call after all
  std::size_t body_at_ = 0;  ///< of the call, in raw_
  std::string tool_;
  bool in_string_ = false, escaped_ = false;  ///< of the call's JSON
  bool has_passed_end_ = false;               ///< a marker that ends calls is in a string of that JSON
};

}  // namespace lathe::engine
