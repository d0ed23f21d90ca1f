// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {
namespace {

// THE TABLE of tool call formats. What shares a marker with another stands before it if it says more: Qwen3-Coder and GLM
// before Hermes.
constexpr std::array kFormats = {
    &kOpenaiCalls,        &kKimiK2Calls,     &kMinimaxM2Calls, &kMinimaxCalls,    &kDeepseekV3Calls,
    &kGemma4Calls,        &kQwen3CoderCalls, &kGlm45Calls,     &kMistralCalls,    &kGraniteCalls,
    &kFunctionGemmaCalls, &kHermesCalls,     &kPythonicCalls,  &kLlama3JsonCalls, &kJsonCalls,
};

}  // namespace

std::span<const CallFormat* const> call_formats() { return kFormats; }

bool has_telltales(std::string_view chat_template, std::span<const std::string_view> telltales) {
  const auto occurs = [&](std::string_view telltale) { return chat_template.find(telltale) != chat_template.npos; };
  const bool any =
      std::any_of(telltales.begin(), telltales.end(), [](std::string_view telltale) { return !telltale.empty(); });
  return any && std::all_of(telltales.begin(), telltales.end(), occurs);
}

}  // namespace lathe::engine
