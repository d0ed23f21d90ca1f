// SPDX-License-Identifier: Apache-2.0
// AnswerReader: splits the text of a chat's choice, as it arrives, into content, reasoning and tool calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/server/id_source.h"
#include "engine/api/answer_parser.h"
#include "engine/api/request.h"

namespace lathe::app {

/// Settings for reading the choices of an answer.
struct ChoiceReading {
  std::shared_ptr<const engine::AnswerReading> answer;  ///< null: the whole text is content
  bool parallel_tool_calls = true;                      ///< false: only the first call is returned, as in vLLM
  bool include_reasoning = true;                        ///< false: reasoning is left out
};

class AnswerReader {
 public:
  /// Requires: all arguments outlive the reader; the formats are names of the tables.
  AnswerReader(const ChoiceReading& reading, const engine::SamplingParams& sampling, IdSource& ids);

  /// Returns the deltas of this event; tool calls are complete and have ids. The last event also yields all text held back
  /// so far.
  std::vector<engine::AnswerDelta> read(const engine::TokenEvent& event);
  /// Returns the parts of a whole answer: as read(), with adjacent deltas of one kind joined.
  std::vector<engine::AnswerDelta> read_whole(const engine::TokenEvent& event);
  /// Returns "length" if that ended the answer, "tool_calls" if there is a call, else the engine's reason.
  std::string_view finish_reason(engine::FinishReason reason) const;
  std::size_t n_calls() const { return n_calls_; }

 private:
  const ChoiceReading& reading_;
  IdSource& ids_;
  std::unique_ptr<engine::AnswerParser> parser_;  ///< null: the whole text is content
  std::size_t n_calls_ = 0;
};

}  // namespace lathe::app
