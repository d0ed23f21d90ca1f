// SPDX-License-Identifier: Apache-2.0
// How a family of models writes tool calls: what opens a block, what ends it, and the calls that a block holds.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/api/answer_parser.h"
#include "engine/text/tool_calls/argument_types.h"
#include "engine/text/tool_calls/markup.h"

namespace lathe::engine {

enum class BlockEnd : std::uint8_t {
  marker_outside_json,    ///< the end marker, unless it is in a string of JSON
  marker_outside_quotes,  ///< the end marker, unless it is in a text between two `quote` markers
  json_value,             ///< the bracket that closes the block's JSON; "{", or "[" as its first character, opened it
  bracketed               ///< the same for Python: round brackets and both quotes count too
};

/// Bytes that a block may begin with; another one means that it is no call.
enum class BlockHead : std::uint8_t {
  json,         ///< "{" or "["
  name,         ///< letters, digits and "_.:-" up to a marker
  json_or_name  ///< either
};

/// Ids of calls as the family's chat templates ask for them.
enum class CallIds : std::uint8_t {
  any,
  nine_characters,  ///< nine letters and digits
  name_and_index    ///< "functions.NAME:INDEX"
};

/// The calls of a block. None: it is no call. Of a block that is open the calls that are whole, perhaps none of them.
using ParseBlock = std::optional<std::vector<ToolCall>> (*)(const BlockText& block, const ArgumentTypes& types);

/// Calls with their arguments one by one between tags:
/// call_open NAME name_close (key_open KEY key_close value_open VALUE value_close)* call_close.
struct TagForm {
  std::string_view call_open, name_close;  ///< empty: the name is the block's first word
  std::string_view call_close;             ///< empty: the block is one call
  std::string_view key_open, key_close;
  std::string_view value_open;  ///< empty: the value follows the key
  std::string_view value_close;
  bool value_has_lines = false;  ///< the line breaks around a value are the format's
  bool names_have_quotes = false;
};

struct CallFormat {
  std::string_view name;  ///< as vLLM calls it
  /// Other names of vLLM's for parsers of the same text.
  std::array<std::string_view, 2> other_names = {};
  /// Each must occur in a chat template for this to be its format. Empty entries say nothing; all empty: never chosen by
  /// itself.
  std::array<std::string_view, 2> telltales;
  std::array<std::string_view, 2> begins;  ///< markers that open a block
  std::array<std::string_view, 2> wraps;   ///< markers around blocks, left out with them
  std::string_view bare;                   ///< characters that open a block where the answer, or a text after a call, begins
  char separator = 0;                      ///< stands between calls
  BlockEnd end_rule = BlockEnd::marker_outside_json;
  BlockHead head = BlockHead::json;
  std::string_view end;                        ///< the end marker
  std::array<std::string_view, 2> inner = {};  ///< markers inside a block, between its name and its JSON
  std::string_view quote = {};                 ///< a marker around texts
  const TagForm* tags = nullptr;               ///< then `end_rule`, `head` and `parse` say nothing
  ParseBlock parse = nullptr;
  CallIds ids = CallIds::any;
};

extern const CallFormat kDeepseekV3Calls, kFunctionGemmaCalls, kGemma4Calls, kGlm45Calls, kGraniteCalls, kHermesCalls,
    kJsonCalls, kKimiK2Calls, kLlama3JsonCalls, kMinimaxCalls, kMinimaxM2Calls, kMistralCalls, kOpenaiCalls, kPythonicCalls,
    kQwen3CoderCalls;

/// The table, in the order in which telltales are looked for.
std::span<const CallFormat* const> call_formats();
/// Whether the template's text has all telltales, and there is one.
bool has_telltales(std::string_view chat_template, std::span<const std::string_view> telltales);
/// The marker that is behind a block: its end marker, or the wrap around it. Empty: there is none.
std::string_view closing_marker(const CallFormat& format);
/// All markers of a format that may be tokens.
std::vector<std::string_view> markers_of(const CallFormat& format);

}  // namespace lathe::engine
