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
struct AnswerReading {
  engine::AnswerFormats formats;  ///< both empty: all is content
  engine::Json tools = engine::Json::array();
  std::string prompt_end;           ///< says whether the answer begins inside the reasoning
  bool parallel_tool_calls = true;  ///< false: only the first call counts, as with vLLM
  bool include_reasoning = true;    ///< false: it is left out
};

class AnswerReader {
 public:
  /// Requires: `reading` and `ids` outlive this; the formats have names of the tables.
  AnswerReader(const AnswerReading& reading, IdSource& ids);

  /// What this event adds; calls are whole and have ids. After the last event also what was held back.
  std::vector<engine::AnswerDelta> read(const engine::TokenEvent& event);
  /// "tool_calls" once there is a call, as with vLLM whatever ended the answer; else the engine's word.
  std::string_view finish_reason(engine::FinishReason reason) const;
  std::size_t n_calls() const { return n_calls_; }

 private:
  const AnswerReading& reading_;
  IdSource& ids_;
  std::unique_ptr<engine::ToolCallParser> parser_;  ///< null: all is content
  std::size_t n_calls_ = 0;
};

}  // namespace lathe::app::openai
