// SPDX-License-Identifier: Apache-2.0
// Splits an answer, while it is written, into content, reasoning and tool calls.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/api/answer_markers.h"
#include "engine/api/chat.h"
#include "engine/api/json.h"
#include "engine/api/options.h"
#include "engine/api/request.h"
#include "engine/api/result.h"
#include "engine/api/tokenizer.h"

namespace lathe::engine {

struct AnswerDelta {
  enum class Kind : std::uint8_t { content, reasoning, call };
  Kind kind = Kind::content;
  std::string text;  ///< of content and reasoning: whole UTF-8 characters, if the answer has them
  ToolCall call;     ///< of a call: complete, because only a complete call is known to be one
};

/// Names of formats as vLLM has them (--tool-call-parser, --reasoning-parser). Empty: answers have none; but "openai" and
/// "openai_gptoss" are one format, and either reads both.
struct AnswerFormats {
  std::string tool_calls;
  std::string reasoning;
  bool empty() const { return tool_calls.empty() && reasoning.empty(); }
};

/// How the answers to one prompt are read, by the engine (for stop strings) and by the receiver of the answer.
struct AnswerReading {
  AnswerFormats formats{};
  std::vector<AnswerMarker> markers{};  ///< of these formats, ascending by id
  /// Tools of the request: formats that write texts and numbers alike look up the types of arguments in them.
  Json tools = Json::array();
  /// The prompt's end, see prompt_end(): says whether the answer begins inside the reasoning; without one it does where the
  /// format's models always do.
  std::string prompt{};
  /// The prompt ends in the beginning of the answer, which is not reasoning unless a marker says so.
  bool goes_on = false;
};

/// The stop strings of an answer's content. Requires: `strings` outlives the parser.
struct AnswerStops {
  std::span<const std::string> strings{};
  bool include = false;  ///< the stop string stays in the content
  bool hold = true;      ///< false: only from a mark TextMark::kStopsHold on
};

inline AnswerStops stops_of(const SamplingParams& sampling) {
  return {sampling.stop, sampling.include_stop_str_in_output, sampling.min_tokens == 0};
}

/// Reads one answer. A marker that is a token of the vocabulary counts as that token alone, where marks say that it was
/// generated; another marker is found in the text. In fenced code blocks and code spans of the content a marker is text.
/// The deltas do not depend on how the text was cut into pieces. A block that is no call is content; markers, separators of
/// calls, and white space next to calls and before reasoning are left out. Content ends at a stop string. Takes time linear
/// in the text; holds back at most 16 MiB.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;
  /// `marks`: of the tokens in `piece`, ascending.
  virtual std::vector<AnswerDelta> feed(std::string_view piece, std::span<const TextMark> marks = {}) = 0;
  /// The answer is over: what was held back. Nothing may be fed afterwards. A call that is not whole is dropped, but one
  /// that hides the marker of its end in a string, in an answer that ended by itself, is content with all that follows it.
  /// `cut`: the answer did not end by itself, so a call whose end cannot be known without its end marker is not whole.
  virtual std::vector<AnswerDelta> finish(bool cut = false) = 0;
  /// Reads on as feed() does, but gives nothing out. Returns stop().
  virtual int watch(std::string_view piece, std::span<const TextMark> marks) = 0;
  /// Index of the stop string that ended the content; -1: none has.
  virtual int stop() const = 0;
};

/// Values of the options tool_call_parser and reasoning_parser beside the names.
inline constexpr std::string_view kParserOfTemplate = "auto", kNoParser = "none";

/// What a chat template teaches its model to write: the first row of the table all of whose telltales occur in the
/// template's text.
AnswerFormats answer_formats_of(std::string_view chat_template);
/// Those that the options name; for "auto" those of the template.
AnswerFormats answer_formats(const EngineOptions& options, std::string_view chat_template);
/// The markers of the formats that are tokens, ascending by id: tokens of exactly a marker's text; of a marker that is no
/// token the longest control token that it begins with.
std::vector<AnswerMarker> answer_markers(const AnswerFormats& formats, const Tokenizer& tokenizer);
/// A reading by these formats. `markers`: of these and perhaps of more formats; those of others are left out.
AnswerReading answer_reading(AnswerFormats formats, std::span<const AnswerMarker> markers);
/// The text that the chat template itself writes behind the last message, or the end of it; where the answer goes on with
/// that message (`goes_on`), the message and the end of what the template writes before it. Texts of other messages say
/// nothing of the answer. `spans`: as ChatTemplate::render() returns them.
std::string prompt_end(std::span<const TextSpan> spans, bool goes_on);
/// A name for each format. `with_others`: all that --tool-call-parser and --reasoning-parser take, but for "auto" and
/// "none"; some formats of calls have several.
std::vector<std::string_view> tool_call_format_names(bool with_others = false);
std::vector<std::string_view> reasoning_format_names();

/// Errors: invalid_argument for a name that is in no table, with those that are.
Result<std::unique_ptr<AnswerParser>> make_answer_parser(const AnswerReading& reading, const AnswerStops& stops = {});

/// The id that a call has: its own where it has the form that the family's templates ask for, else one that is made of
/// `random`. Mistral: nine letters and digits; Kimi K2: "functions.NAME:INDEX"; others "chatcmpl-tool-" and `random`.
/// `random`: 32 hexadecimal digits. `index`: number of the call in its answer.
std::string call_id(const AnswerFormats& formats, const ToolCall& call, std::size_t index, std::string_view random);

}  // namespace lathe::engine
