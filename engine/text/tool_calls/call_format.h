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

namespace lathe::engine {

enum class BlockEnd : std::uint8_t {
  marker,                  ///< the end marker, wherever it stands
  marker_outside_strings,  ///< the end marker, unless it stands in a string of JSON
  json_value,              ///< the bracket that closes the block's JSON; "{", or "[" as its first character, opened it
  bracketed                ///< the same for Python: round brackets and both quotes count too
};

/// The calls of a block, without its markers. None: it is no call.
using ParseBlock = std::optional<std::vector<ToolCall>> (*)(std::string_view body, const ArgumentTypes& types);

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
  BlockEnd end_rule = BlockEnd::marker;
  std::string_view end;  ///< the end marker
  ParseBlock parse = nullptr;
};

extern const CallFormat kDeepseekV3Calls, kFunctionGemmaCalls, kGemma4Calls, kGlm45Calls, kGraniteCalls, kHermesCalls,
    kJsonCalls, kKimiK2Calls, kLlama3JsonCalls, kMinimaxCalls, kMinimaxM2Calls, kMistralCalls, kOpenaiCalls, kPythonicCalls,
    kQwen3CoderCalls;

/// The table, in the order in which telltales are looked for.
std::span<const CallFormat* const> call_formats();
/// Whether the template's text has all telltales, and there is one.
bool has_telltales(std::string_view chat_template, std::span<const std::string_view> telltales);

}  // namespace lathe::engine
