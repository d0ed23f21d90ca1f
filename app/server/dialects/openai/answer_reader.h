// SPDX-License-Identifier: Apache-2.0
// AnswerReader: makes of the text of a chat's choice, while it comes, content, reasoning and tool calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/server/id_source.h"
#include "engine/api/answer_parser.h"
#include "engine/api/request.h"

namespace lathe::app::openai {

/// What the choices of an answer are read with.
struct ChoiceReading {
  std::shared_ptr<const engine::AnswerReading> answer;  ///< null: all is content
  bool parallel_tool_calls = true;                      ///< false: only the first call counts, as with vLLM
  bool include_reasoning = true;                        ///< false: it is left out
};

class AnswerReader {
 public:
  /// Requires: all outlive this; formats have names of the tables.
  AnswerReader(const ChoiceReading& reading, const engine::SamplingParams& sampling, IdSource& ids);

  /// What this event adds; calls are whole and have ids. After the last event also what was held back.
  std::vector<engine::AnswerDelta> read(const engine::TokenEvent& event);
  /// "length" where that ended the answer, "tool_calls" where there is a call, else the engine's word.
  std::string_view finish_reason(engine::FinishReason reason) const;
  std::size_t n_calls() const { return n_calls_; }

 private:
  const ChoiceReading& reading_;
  IdSource& ids_;
  std::unique_ptr<engine::AnswerParser> parser_;  ///< null: all is content
  std::size_t n_calls_ = 0;
};

}  // namespace lathe::app::openai
