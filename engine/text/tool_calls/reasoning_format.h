// SPDX-License-Identifier: Apache-2.0
// ReasoningFormat: how a family of models marks its reasoning, which precedes its answer.
#pragma once

#include <array>
#include <span>
#include <string_view>

namespace lathe::engine {

struct ReasoningFormat {
  std::string_view name;  ///< vLLM's name
  std::array<std::string_view, 2> telltales;
  std::array<std::string_view, 2> begins;
  std::array<std::string_view, 2> ends;
  std::array<std::string_view, 2> wraps;  ///< markers around the answer after the reasoning, which are removed
  bool begun = false;                     ///< the prompt ends with the begin marker, so answers start inside the reasoning
};

std::span<const ReasoningFormat> reasoning_formats();

/// Returns whether an answer to this prompt starts inside the reasoning. The markers at the prompt's end decide; without
/// any, `format.begun` does, unless the prompt already contains the beginning of the answer (`goes_on`).
bool starts_in_reasoning(const ReasoningFormat& format, std::string_view prompt, bool goes_on);

}  // namespace lathe::engine
