// SPDX-License-Identifier: Apache-2.0
#include "engine/api/answer_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/call_scanner.h"
#include "engine/text/tool_calls/harmony_parser.h"
#include "engine/text/tool_calls/reasoning_format.h"
#include "engine/text/tool_calls/reasoning_scanner.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kHarmonyReasoning = "openai_gptoss";

class ScanningParser final : public ToolCallParser {
 public:
  ScanningParser(const CallFormat* calls, const ReasoningFormat* reasoning, bool begun, const Json& tools)
      : calls_(calls, ArgumentTypes(tools), deltas_), reasoning_(reasoning, begun, calls_, deltas_) {}

  std::vector<AnswerDelta> feed(std::string_view piece) override {
    for (const char byte : piece) reasoning_.push(byte);
    return deltas_.take();
  }
  std::vector<AnswerDelta> finish() override {
    reasoning_.finish();
    return deltas_.take_all();
  }

 private:
  DeltaList deltas_;
  CallScanner calls_;
  ReasoningScanner reasoning_;
};

tl::unexpected<Error> unknown(std::string_view name, const std::vector<std::string_view>& names, std::string_view option) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no parser \"{}\"; there are {}", printable_excerpt(name), fmt::join(names, ", ")),
              std::string(option));
}

}  // namespace

AnswerFormats answer_formats_of(std::string_view chat_template) {
  AnswerFormats formats;
  const auto calls = std::find_if(call_formats().begin(), call_formats().end(),
                                  [&](const CallFormat* format) { return has_telltales(chat_template, format->telltales); });
  if (calls != call_formats().end()) formats.tool_calls = (*calls)->name;
  const auto reasoning =
      std::find_if(reasoning_formats().begin(), reasoning_formats().end(),
                   [&](const ReasoningFormat& format) { return has_telltales(chat_template, format.telltales); });
  if (reasoning != reasoning_formats().end()) formats.reasoning = reasoning->name;
  return formats;
}

std::vector<std::string_view> tool_call_format_names() {
  std::vector<std::string_view> names;
  for (const CallFormat* format : call_formats()) names.push_back(format->name);
  return names;
}

std::vector<std::string_view> reasoning_format_names() {
  std::vector<std::string_view> names;
  for (const ReasoningFormat& format : reasoning_formats()) names.push_back(format.name);
  return names;
}

Result<std::unique_ptr<ToolCallParser>> make_tool_call_parser(const AnswerFormats& formats, const Json& tools,
                                                              std::string_view prompt) {
  const CallFormat* calls = nullptr;
  for (const CallFormat* format : call_formats()) {
    const auto& others = format->other_names;
    const bool by_another = std::find(others.begin(), others.end(), formats.tool_calls) != others.end();
    if (!formats.tool_calls.empty() && (format->name == formats.tool_calls || by_another)) calls = format;
  }
  const ReasoningFormat* reasoning = nullptr;
  for (const ReasoningFormat& format : reasoning_formats()) {
    if (format.name == formats.reasoning) reasoning = &format;
  }
  if (calls == nullptr && !formats.tool_calls.empty())
    return unknown(formats.tool_calls, tool_call_format_names(), "tool_call_parser");
  if (reasoning == nullptr && !formats.reasoning.empty())
    return unknown(formats.reasoning, reasoning_format_names(), "reasoning_parser");
  if (calls == &kOpenaiCalls || formats.reasoning == kHarmonyReasoning) return std::make_unique<HarmonyParser>();
  const bool begun = reasoning != nullptr && starts_in_reasoning(*reasoning, prompt);
  return std::make_unique<ScanningParser>(calls, reasoning, begun, tools);
}

}  // namespace lathe::engine
