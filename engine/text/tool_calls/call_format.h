// SPDX-License-Identifier: Apache-2.0
// CallFormat: how a family of models writes tool calls: the markers around a block of calls, and the calls inside it.
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
  json_value,  ///< the bracket that closes the block's JSON, which begins with "{", or with "[" as its first character
  bracketed    ///< the bracket that closes the block's Python list: round brackets and both kinds of quotes count too
};

/// First bytes of a block; a block that begins with other bytes is not a call.
enum class BlockHead : std::uint8_t {
  json,         ///< "{" or "["
  name,         ///< letters, digits and "_.:-" up to a marker
  json_or_name  ///< JSON or a name
};

/// Form of the call ids that the family's chat templates expect.
enum class CallIds : std::uint8_t {
  any,
  nine_characters,  ///< nine letters and digits
  name_and_index    ///< "functions.NAME:INDEX"
};

/// Returns the calls of a block; nothing if the block is not a call. If the answer ended inside the block, only complete
/// calls are returned, perhaps none.
using ParseBlock = std::optional<std::vector<ToolCall>> (*)(const BlockText& block, const ArgumentTypes& types);

/// The tags of a format whose arguments are written one by one:
/// call_open NAME name_close (key_open KEY key_close value_open VALUE value_close)* call_close.
struct TagForm {
  std::string_view call_open, name_close;  ///< empty: the name is the block's first word
  std::string_view call_close;             ///< empty: the block is one call
  std::string_view key_open, key_close;
  std::string_view value_open;  ///< empty: the value follows the key
  std::string_view value_close;
  bool value_has_lines = false;  ///< the line breaks around a value belong to the format, not to the value
  bool names_have_quotes = false;
};

/// How the value of an argument, or all arguments as one object, are written.
enum class ValueStyle : std::uint8_t {
  json,
  python,  ///< literals of Python
  tagged,  ///< a text as it is, other values as JSON
  quoted   ///< JSON with bare names, and texts between the format's `quote`
};

/// How a model writes calls, as texts with places: $name is the name of the tool, $index a number, $json its arguments as
/// one object, $values its arguments one by one, each as `value` has it with $key and $value; $text is free, and $_ are
/// blanks that may be left out. Markers in the texts are tokens where the vocabulary has them. call_grammar() makes the
/// grammar of them, and what it allows the format's parser reads.
struct CallText {
  std::string_view needs = {};       ///< a marker that must be a token, or this is not how the model writes
  std::string_view before = {};      ///< before the first call
  std::string_view call = {};        ///< empty: see `needs` of the next
  std::string_view other_call = {};  ///< another way to write a call; a tool whose name is in it has no other
  std::string_view between = {};     ///< between two calls
  std::string_view after = {};       ///< after the last call
  std::string_view value = {};
  std::string_view comma = {};  ///< between two values
  ValueStyle style = ValueStyle::json;
  std::string_view lead = {};     ///< what may precede calls and content any number of times
  std::string_view content = {};  ///< an answer without calls; empty: free text
};

struct CallFormat {
  std::string_view name;  ///< vLLM's name
  /// Other names in vLLM for parsers of the same text.
  std::array<std::string_view, 2> other_names = {};
  /// A chat template chooses the first format of the table all of whose telltales occur in its text. Empty entries are
  /// ignored; if all are empty, the format is never chosen automatically.
  std::array<std::string_view, 2> telltales;
  std::array<std::string_view, 2> begins;  ///< markers that open a block
  std::array<std::string_view, 2> wraps;   ///< markers around blocks, which are removed with them
  std::string_view bare;  ///< characters that open a block at the beginning of the answer, or of a text after a call
  char separator = 0;     ///< separator between calls; 0: none
  BlockEnd end_rule = BlockEnd::marker_outside_json;
  BlockHead head = BlockHead::json;
  std::string_view end;                        ///< the end marker
  std::array<std::string_view, 2> inner = {};  ///< markers inside a block, between its name and its JSON
  std::string_view quote = {};                 ///< a marker before and after a text
  const TagForm* tags = nullptr;               ///< if set, `end_rule`, `head` and `parse` are ignored
  ParseBlock parse = nullptr;
  CallIds ids = CallIds::any;
  std::array<CallText, 2> texts = {};  ///< the first whose `needs` is a token, or empty, holds
};

/// The format with this name, or with this other name; null: there is none.
const CallFormat* find_call_format(std::string_view name);
/// Returns the table, in the order in which telltales are searched.
std::span<const CallFormat* const> call_formats();
/// The names by which users choose the formats: of each format its name, then its other names.
std::vector<std::string_view> all_names_of(std::span<const CallFormat* const> formats);
/// Returns whether `chat_template` contains all non-empty telltales, and there is at least one.
bool has_telltales(std::string_view chat_template, std::span<const std::string_view> telltales);
/// The marker that is behind a block: its end marker, or the wrap around it. Empty: there is none.
std::string_view closing_marker(const CallFormat& format);
/// All markers of a format that may be tokens.
std::vector<std::string_view> markers_of(const CallFormat& format);

}  // namespace lathe::engine
