// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/text/tool_calls/reasoning_format.h"

namespace lathe::engine {
namespace {

// THE TABLE of reasoning formats, a row for each, in the order in which telltales are looked for. openai_gptoss is read by
// harmony_parser.
constexpr std::array kReasoningRows = {
    ReasoningFormat{"openai_gptoss", {"<|channel|>", "<|message|>"}, {}, {}, {}},
    ReasoningFormat{"gemma4", {"<|channel>thought"}, {"<|channel>thought\n"}, {"<channel|>"}, {}},
    ReasoningFormat{"mistral", {"[THINK]"}, {"[THINK]"}, {"[/THINK]"}, {}},
    ReasoningFormat{"cohere_command3",
                    {"<|START_THINKING|>"},
                    {"<|START_THINKING|>"},
                    {"<|END_THINKING|>"},
                    {"<|START_RESPONSE|>", "<|END_RESPONSE|>"}},
    ReasoningFormat{"seed_oss", {"<seed:think>"}, {"<seed:think>"}, {"</seed:think>"}, {}},
    ReasoningFormat{"minimax_m2", {"<think>", "<minimax:tool_call>"}, {"<think>"}, {"</think>"}, {}, true},
    ReasoningFormat{"kimi_k2", {"<think>", "<|tool_calls_section_begin|>"}, {"<think>"}, {"</think>"}, {}},
    ReasoningFormat{"glm45", {"<think>", "<arg_key>"}, {"<think>"}, {"</think>"}, {}},
    ReasoningFormat{"granite",
                    {"<think></think>", "<response></response>"},
                    {"<think>", "Here is my thought process:"},
                    {"</think>", "Here is my response:"},
                    {"<response>", "</response>"}},
    ReasoningFormat{"deepseek_r1", {"<think>", "<｜Assistant｜>"}, {"<think>"}, {"</think>"}, {}, true},
    ReasoningFormat{"qwen3", {"<think>"}, {"<think>"}, {"</think>"}, {}},
};

/// Returns the index after the last of the markers; 0 if there is none.
std::size_t last_of(std::string_view text, std::span<const std::string_view> markers) {
  std::size_t last = 0;
  for (const std::string_view marker : markers) {
    const std::size_t at = marker.empty() ? text.npos : text.rfind(marker);
    if (at != text.npos) last = std::max(last, at + marker.size());
  }
  return last;
}

}  // namespace

std::span<const ReasoningFormat> reasoning_formats() { return kReasoningRows; }

bool starts_in_reasoning(const ReasoningFormat& format, std::string_view prompt, bool goes_on) {
  const std::size_t begun = last_of(prompt, format.begins), ended = last_of(prompt, format.ends);
  return begun == ended ? format.begun && !goes_on : begun > ended;
}

}  // namespace lathe::engine
