// SPDX-License-Identifier: Apache-2.0
#include "engine/api/answer_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

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

/// Null where no row has the name.
const CallFormat* find_call_format(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto has_name = [&](const CallFormat* format) {
    const auto& others = format->other_names;
    return format->name == name || std::find(others.begin(), others.end(), name) != others.end();
  };
  const auto found = std::find_if(call_formats().begin(), call_formats().end(), has_name);
  return found == call_formats().end() ? nullptr : *found;
}

const ReasoningFormat* find_reasoning_format(std::string_view name) {
  const auto found = std::find_if(reasoning_formats().begin(), reasoning_formats().end(),
                                  [&](const ReasoningFormat& format) { return format.name == name; });
  return found == reasoning_formats().end() ? nullptr : &*found;
}

bool is_harmony(const CallFormat* calls, const AnswerFormats& formats) {
  return calls == &kOpenaiCalls || formats.reasoning == kHarmonyReasoning;
}

/// Whether the marker, or what it begins with, is a control token.
bool begins_with_special(std::string_view marker, const Tokenizer& tokenizer) {
  for (std::size_t size = 1; size <= marker.size(); ++size) {
    const auto id = tokenizer.id_of(marker.substr(0, size));
    if (id && tokenizer.is_special(*id)) return true;
  }
  return false;
}

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

AnswerFormats answer_formats(const EngineOptions& options, std::string_view chat_template) {
  AnswerFormats formats = answer_formats_of(chat_template);
  const auto choose = [](const std::string& asked, std::string& format) {
    if (asked == kNoParser) format.clear();
    else if (asked != kParserOfTemplate) format = asked;
  };
  choose(options.tool_call_parser, formats.tool_calls);
  choose(options.reasoning_parser, formats.reasoning);
  return formats;
}

std::vector<std::string_view> tool_call_format_names(bool with_others) {
  std::vector<std::string_view> names;
  for (const CallFormat* format : call_formats()) names.push_back(format->name);
  if (!with_others) return names;
  for (const CallFormat* format : call_formats()) {
    std::copy_if(format->other_names.begin(), format->other_names.end(), std::back_inserter(names),
                 [](std::string_view other) { return !other.empty(); });
  }
  return names;
}

std::vector<std::string_view> reasoning_format_names() {
  std::vector<std::string_view> names;
  for (const ReasoningFormat& format : reasoning_formats()) names.push_back(format.name);
  return names;
}

bool need_special_tokens(const AnswerFormats& formats, const Tokenizer& tokenizer) {
  const CallFormat* calls = find_call_format(formats.tool_calls);
  const ReasoningFormat* reasoning = find_reasoning_format(formats.reasoning);
  if (is_harmony(calls, formats)) return true;
  std::vector<std::string_view> markers;
  const auto add = [&](const auto& some) { markers.insert(markers.end(), some.begin(), some.end()); };
  if (calls != nullptr) add(calls->begins), add(calls->wraps), markers.push_back(calls->end);
  if (reasoning != nullptr) add(reasoning->begins), add(reasoning->ends), add(reasoning->wraps);
  return std::any_of(markers.begin(), markers.end(),
                     [&](std::string_view marker) { return begins_with_special(marker, tokenizer); });
}

Result<std::unique_ptr<ToolCallParser>> make_tool_call_parser(const AnswerFormats& formats, const Json& tools,
                                                              std::string_view prompt) {
  const CallFormat* calls = find_call_format(formats.tool_calls);
  const ReasoningFormat* reasoning = find_reasoning_format(formats.reasoning);
  if (calls == nullptr && !formats.tool_calls.empty())
    return unknown(formats.tool_calls, tool_call_format_names(true), "tool_call_parser");
  if (reasoning == nullptr && !formats.reasoning.empty())
    return unknown(formats.reasoning, reasoning_format_names(), "reasoning_parser");
  if (is_harmony(calls, formats)) return std::make_unique<HarmonyParser>();
  const bool begun = reasoning != nullptr && starts_in_reasoning(*reasoning, prompt);
  return std::make_unique<ScanningParser>(calls, reasoning, begun, tools);
}

}  // namespace lathe::engine
