// SPDX-License-Identifier: Apache-2.0
// TagBlock: reads calls with arguments between tags, byte by byte. A tag closes only if the next tag of the form, or the end
// marker, follows it: elsewhere the same characters are part of an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text/tool_calls/block_extent.h"
#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/marker_progress.h"

namespace lathe::engine {

class TagBlock {
 public:
  /// `offered`: null, or the tools of the request for a block whose begin marker the model left out: it begins with the tag
  /// that opens a call, or the name, holds calls of these tools alone, and ends before what is neither a call nor the end
  /// marker. Requires: the format has tags; `format`, `tokens` and `offered` outlive this object.
  TagBlock(const CallFormat& format, const MarkerTokens& tokens, const ArgumentTypes* offered = nullptr);

  BlockExtent::State push(char byte);
  BlockExtent::State push_token(std::string_view text);
  /// Whether the end marker has come and did not end the block: it is in a value that may never have been closed.
  bool has_passed_end() const { return has_passed_end_; }
  /// Whether what was pushed must be a call, whole or half.
  bool has_begun_call() const;
  /// Bytes up to the end of the last whole call, with the end marker if it has come.
  std::size_t size_of_calls() const { return end_of_calls_; }
  /// The calls that are whole, perhaps none of them; `body` is all that was pushed. `cut`: see AnswerParser::finish.
  /// Requires: the block is not broken. Call it once, at the end.
  std::vector<ToolCall> calls(std::string_view body, const ArgumentTypes& types, bool cut);

 private:
  enum class Step : std::uint8_t {
    before_call,
    name,
    in_call,  ///< before a key, or the end of the call
    key,
    before_value,
    value,
    behind_value,  ///< after a possible end of a value
    behind_call,   ///< after a possible end of a call
    ended,
    broken
  };
  struct Range {
    std::size_t begin = 0, end = 0;
    std::string_view of(std::string_view text) const { return text.substr(begin, end - begin); }
  };
  struct Argument {
    Range key, value;
  };
  struct Call {
    Range name;
    std::vector<Argument> arguments;
  };

  BlockExtent::State state() const;
  void push_byte(char byte);
  void pass_token(std::string_view text);
  bool is_expected(std::string_view tag) const;
  void expect(char byte);
  void pass(std::string_view tag);
  void confirm_value();
  void mismatch();
  void give_up();
  void push_name(char byte);
  void push_key(char byte);
  void match_value_end(char byte);
  void end_name(std::size_t end, Step next);
  void begin_value();
  ToolCall call_of(const Call& call, std::string_view body, const ArgumentTypes& types) const;

  const TagForm& form_;
  std::string_view end_;
  const MarkerTokens& tokens_;
  const ArgumentTypes* offered_;
  Step step_ = Step::before_call;
  std::size_t n_bytes_ = 0;      ///< pushed
  std::size_t begin_ = 0;        ///< of the name, key or value
  MarkerProgress progress_;      ///< of the tag that closes the name, key or value
  MarkerProgress end_progress_;  ///< of the end marker, everywhere
  bool has_passed_end_ = false;
  std::string name_;         ///< of the call, and a part of the tag after it
  std::string held_;         ///< what may become an expected tag
  bool may_go_on_ = false;   ///< nothing has proven yet that the last value has ended
  Range value_;              ///< that value
  std::vector<Call> calls_;  ///< the last one may be open
  std::size_t n_whole_ = 0;
  std::size_t end_of_calls_ = 0;
};

}  // namespace lathe::engine
