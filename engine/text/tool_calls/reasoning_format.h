// SPDX-License-Identifier: Apache-2.0
// How a family of models marks its reasoning, which comes before its answer.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace lathe::engine {

struct ReasoningFormat {
  std::string_view name;  ///< as vLLM calls it
  std::array<std::string_view, 2> telltales;
  std::array<std::string_view, 2> begins;
  std::array<std::string_view, 2> ends;
  std::array<std::string_view, 2> wraps;  ///< markers around the answer behind it, left out
  bool begun = false;                     ///< the prompt ends with the begin marker, so answers start inside
};

std::span<const ReasoningFormat> reasoning_formats();

/// Whether an answer to this prompt starts inside the reasoning: what the prompt says, and else what the format does.
/// `prompt`: as AnswerReading::prompt.
bool starts_in_reasoning(const ReasoningFormat& format, std::string_view prompt, bool goes_on);

}  // namespace lathe::engine
