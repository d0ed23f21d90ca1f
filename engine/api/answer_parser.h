// SPDX-License-Identifier: Apache-2.0
// Tells the text of an answer apart, while it is written, into content, reasoning and tool calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/chat.h"
#include "engine/api/json.h"
#include "engine/api/options.h"
#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

struct AnswerDelta {
  enum class Kind : std::uint8_t { content, reasoning, call };
  Kind kind = Kind::content;
  std::string text;  ///< of content and reasoning: whole UTF-8 characters, if the answer has them
  ToolCall call;     ///< of a call: complete, because only a complete call is known to be one
};

/// Reads one answer. What the deltas say does not depend on how the text was cut into pieces. What is no call after all is
/// content; only markers, what separates calls, and white space beside calls and before reasoning are left out. Costs time
/// linear in the text; holds back at most 16 MiB.
class ToolCallParser {
 public:
  virtual ~ToolCallParser() = default;
  virtual std::vector<AnswerDelta> feed(std::string_view piece) = 0;
  /// The answer is over: what was held back. Nothing may be fed afterwards.
  virtual std::vector<AnswerDelta> finish() = 0;
};

/// Names of formats as vLLM has them (--tool-call-parser, --reasoning-parser). Empty: answers have none; but "openai" and
/// "openai_gptoss" are one format, and either reads both.
struct AnswerFormats {
  std::string tool_calls;
  std::string reasoning;
};

/// Values of the options tool_call_parser and reasoning_parser beside the names.
inline constexpr std::string_view kParserOfTemplate = "auto", kNoParser = "none";

/// What a chat template teaches its model to write: the first row of the table all of whose telltales occur in the
/// template's text.
AnswerFormats answer_formats_of(std::string_view chat_template);
/// Those that the options name; for "auto" those of the template.
AnswerFormats answer_formats(const EngineOptions& options, std::string_view chat_template);
/// Whether a marker of the formats is a control token, so that it is only in a text that shows those.
bool need_special_tokens(const AnswerFormats& formats, const Tokenizer& tokenizer);
/// A name for each format. `with_others`: all that --tool-call-parser and --reasoning-parser take, but for "auto" and "none";
/// some formats of calls have several.
std::vector<std::string_view> tool_call_format_names(bool with_others = false);
std::vector<std::string_view> reasoning_format_names();

/// `tools` is the list of a request; formats that do not tell texts from numbers look up the types of arguments in it.
/// `prompt`, or its end, says whether the answer begins inside the reasoning; without one it does where the format's models
/// always do. Errors: invalid_argument for a name that is in no table, with those that are.
Result<std::unique_ptr<ToolCallParser>> make_tool_call_parser(const AnswerFormats& formats,
                                                              const Json& tools = Json::array(),
                                                              std::string_view prompt = {});

}  // namespace lathe::engine
