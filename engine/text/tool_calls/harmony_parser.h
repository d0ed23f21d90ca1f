// SPDX-License-Identifier: Apache-2.0
// Answers of gpt-oss: messages with a channel and perhaps a recipient. Source: OpenAI's description of the harmony format.
#pragma once

#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_matcher.h"

namespace lathe::engine {

class HarmonyParser final : public ToolCallParser {
 public:
  HarmonyParser();

  std::vector<AnswerDelta> feed(std::string_view piece) override;
  std::vector<AnswerDelta> finish() override;

 private:
  enum class State : std::uint8_t {
    between,  ///< messages: a header follows, or text without one
    header,
    message,  ///< of reasoning or content, passed on as it comes
    call,     ///< a message to a function, kept until it is whole
    bare      ///< text without a header
  };

  void push(char byte);
  void add_plain(std::string_view text);
  void add_marker(std::string_view marker);
  void begin_message();
  void end_call();
  void give_up();

  State state_ = State::between;
  AnswerDelta::Kind kind_ = AnswerDelta::Kind::content;  ///< of the message
  MarkerMatcher markers_;
  DeltaList deltas_;
  std::string plain_;
  std::string raw_;          ///< the header and the call as they came: content if they are no call after all
  std::size_t body_at_ = 0;  ///< of the call, in raw_
  std::string tool_;
};

}  // namespace lathe::engine
