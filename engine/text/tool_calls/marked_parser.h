// SPDX-License-Identifier: Apache-2.0
// MarkedParser: the common base of the answer parsers. It turns a text and its marks into bytes and tokens in their order.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/text/tool_calls/delta_list.h"
#include "engine/text/tool_calls/marker_tokens.h"

namespace lathe::engine {

class MarkedParser : public AnswerParser {
 public:
  MarkedParser(const AnswerReading& reading, const AnswerStops& stops) : tokens_(reading.markers), deltas_(stops) {}

  std::vector<AnswerDelta> feed(std::string_view piece, std::span<const TextMark> marks) final {
    read(piece, marks);
    return deltas_.take();
  }
  std::vector<AnswerDelta> finish(bool cut) final {
    if (deltas_.stop() < 0) end(cut);
    return deltas_.take_all();
  }
  int watch(std::string_view piece, std::span<const TextMark> marks) final {
    deltas_.only_watch();
    read(piece, marks);
    return deltas_.stop();
  }
  int stop() const final { return deltas_.stop(); }

 protected:
  virtual void push(char byte) = 0;
  /// Adds a token that is a marker, or the beginning of one.
  virtual void push_token(std::string_view text) = 0;
  virtual void end(bool cut) = 0;

  const MarkerTokens tokens_;
  DeltaList deltas_;

 private:
  void read(std::string_view piece, std::span<const TextMark> marks) {
    std::size_t at = 0;
    for (const TextMark& mark : marks) {
      for (; at < mark.at && at < piece.size(); ++at) push_byte(piece[at]);
      if (mark.id == TextMark::kStopsHold) {
        deltas_.hold_stops();
        continue;
      }
      const std::string_view text = tokens_.text_of(mark.id);
      if (text.empty() || !piece.substr(std::min(at, piece.size())).starts_with(text)) continue;
      if (deltas_.stop() < 0) push_token(text);
      at += text.size();
    }
    for (; at < piece.size(); ++at) push_byte(piece[at]);
  }
  void push_byte(char byte) {
    if (deltas_.stop() < 0) push(byte);
  }
};

}  // namespace lathe::engine
