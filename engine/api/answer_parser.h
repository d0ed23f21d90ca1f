// SPDX-License-Identifier: Apache-2.0
// AnswerParser: splits an answer, while it is generated, into content, reasoning and tool calls.
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
  std::string text;  ///< content or reasoning, in whole UTF-8 characters if the answer is valid UTF-8
  ToolCall call;     ///< a complete call, because text is known to be a call only when it is complete
};

/// Names of an answer's formats, as in vLLM (--tool-call-parser, --reasoning-parser). Empty: answers have no calls, or no
/// reasoning; but "openai" and "openai_gptoss" are one format, and either name reads both calls and reasoning.
struct AnswerFormats {
  std::string tool_calls;
  std::string reasoning;
  bool empty() const { return tool_calls.empty() && reasoning.empty(); }
};

/// Parameters for parsing the answers to one prompt, used by the engine (for stop strings) and by the answer's receiver.
struct AnswerReading {
  AnswerFormats formats{};
  std::vector<AnswerMarker> markers{};  ///< markers of `formats`, ascending by id
  /// Tools of the request: formats that do not distinguish strings from numbers look up the types of arguments here.
  Json tools = Json::array();
  /// The prompt's end, see prompt_end(): says whether the answer begins inside the reasoning; without one it does where the
  /// format's models always do.
  std::string prompt{};
  /// True: the prompt ends with the beginning of the answer, which is not reasoning unless a marker begins one.
  bool goes_on = false;
  /// True: the constraint is a call_grammar(), which describes the messages of gpt-oss with their headers.
  bool constrains_calls = false;
};

/// Stop strings of an answer's content. Requires: `strings` outlives the parser.
struct AnswerStops {
  std::span<const std::string> strings{};
  bool include = false;  ///< the stop string stays in the content
  bool hold = true;      ///< stop strings apply from the beginning; false: from a mark TextMark::kStopsHold on
};

inline AnswerStops stops_of(const SamplingParams& sampling) {
  return {sampling.stop, sampling.include_stop_str_in_output, sampling.min_tokens == 0};
}

/// Parser of one answer. A marker that is a token of the vocabulary is recognised only by a mark, which says that this token
/// was generated; other markers are found in the text. In fenced code blocks and code spans of the content a marker is text.
/// Invariant: the deltas do not depend on how the text was cut into pieces. A block that is not a call is content; markers,
/// separators of calls, and white space next to calls and before reasoning are left out, but one break stays between contents
/// that calls separate. Content ends at a stop string.
/// Parsing takes time linear in the text and holds back at most 16 MiB.
class AnswerParser {
 public:
  virtual ~AnswerParser() = default;
  /// Parses the next piece. `marks`: positions of marker tokens in `piece`, ascending.
  virtual std::vector<AnswerDelta> feed(std::string_view piece, std::span<const TextMark> marks = {}) = 0;
  /// The answer is over: what was held back. Nothing may be fed afterwards. A call that is not whole is dropped, but one
  /// that hides the marker of its end in a string, in an answer that ended by itself, is content with all that follows it.
  /// `cut`: the answer did not end by itself, so a call whose end cannot be known without its end marker is not whole.
  virtual std::vector<AnswerDelta> finish(bool cut = false) = 0;
  /// Parses the next piece as feed() does, but returns only stop().
  virtual int watch(std::string_view piece, std::span<const TextMark> marks) = 0;
  /// Index of the stop string that ended the content; -1: none has.
  virtual int stop() const = 0;
};

/// Values of the options tool_call_parser and reasoning_parser in addition to the names of formats.
inline constexpr std::string_view kParserOfTemplate = "auto", kNoParser = "none";

/// Formats that a chat template makes its model write: the first row of each table all of whose telltales occur in the
/// template's text.
AnswerFormats answer_formats_of(std::string_view chat_template);
/// Formats that the options name; for "auto" the formats of the template.
AnswerFormats answer_formats(const EngineOptions& options, std::string_view chat_template);
/// Markers of the formats that are tokens, ascending by id: the token with exactly a marker's text, or else the longest
/// control token with which the marker begins.
std::vector<AnswerMarker> answer_markers(const AnswerFormats& formats, const Tokenizer& tokenizer);
/// A reading by these formats. Markers of other formats in `markers` are left out.
AnswerReading answer_reading(AnswerFormats formats, std::span<const AnswerMarker> markers);
/// The text that the chat template itself writes behind the last message, or the end of it; where the answer goes on with
/// that message (`goes_on`), the message and the end of what the template writes before it. Texts of other messages say
/// nothing of the answer. `spans`: as ChatTemplate::render() returns them.
std::string prompt_end(std::span<const TextSpan> spans, bool goes_on);
/// A name for each format. `with_others`: all that --tool-call-parser and --reasoning-parser take, but for "auto" and
/// "none"; some formats of calls have several.
std::vector<std::string_view> tool_call_format_names(bool with_others = false);
std::vector<std::string_view> reasoning_format_names();

/// Errors: invalid_argument for an unknown name, with the known names.
Result<std::unique_ptr<AnswerParser>> make_answer_parser(const AnswerReading& reading, const AnswerStops& stops = {});

/// The id of a call: its own if that has the form that the family's templates require, else one made of `random`.
/// Mistral: nine letters and digits; Kimi K2: "functions.NAME:INDEX"; others: "chatcmpl-tool-" and `random`.
/// `random`: 32 hexadecimal digits. `index`: index of the call in its answer.
std::string call_id(const AnswerFormats& formats, const ToolCall& call, std::size_t index, std::string_view random);

}  // namespace lathe::engine
