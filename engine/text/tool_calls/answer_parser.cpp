// SPDX-License-Identifier: Apache-2.0
#include "engine/api/answer_parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "engine/text/tool_calls/call_format.h"
#include "engine/text/tool_calls/call_scanner.h"
#include "engine/text/tool_calls/harmony_parser.h"
#include "engine/text/tool_calls/marked_parser.h"
#include "engine/text/tool_calls/reasoning_format.h"
#include "engine/text/tool_calls/reasoning_scanner.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kHarmonyCalls = "openai", kHarmonyReasoning = "openai_gptoss";

class ScanningParser final : public MarkedParser {
 public:
  ScanningParser(const CallFormat* calls, const ReasoningFormat* reasoning, const AnswerReading& reading,
                 const AnswerStops& stops)
      : MarkedParser(reading, stops),
        calls_(calls, ArgumentTypes(reading.tools), tokens_, deltas_),
        reasoning_(reasoning, reasoning != nullptr && starts_in_reasoning(*reasoning, reading.prompt, reading.goes_on),
                   tokens_, calls_, deltas_) {}

 private:
  void push(char byte) override { reasoning_.push(byte); }
  void push_token(std::string_view text) override { reasoning_.push_token(text); }
  void end(bool cut) override { reasoning_.finish(cut); }

  CallScanner calls_;
  ReasoningScanner reasoning_;
};

const ReasoningFormat* find_reasoning_format(std::string_view name) {
  const auto found = std::find_if(reasoning_formats().begin(), reasoning_formats().end(),
                                  [&](const ReasoningFormat& format) { return format.name == name; });
  return found == reasoning_formats().end() ? nullptr : &*found;
}

bool is_harmony(const CallFormat* calls, const AnswerFormats& formats) {
  return (calls != nullptr && calls->name == kHarmonyCalls) || formats.reasoning == kHarmonyReasoning;
}

/// Returns the token with exactly this text, otherwise the longest control token that the text begins with; nothing if
/// neither exists.
std::optional<AnswerMarker> token_of(std::string_view marker, const Tokenizer& tokenizer) {
  for (std::size_t size = marker.size(); size > 1; --size) {
    const std::string_view text = marker.substr(0, size);
    const auto id = tokenizer.id_of(text);
    const bool counts = id && (size == marker.size() || tokenizer.is_special(*id)) && tokenizer.piece(*id) == text;
    if (counts) return AnswerMarker{*id, std::string(text), false, false};
  }
  return std::nullopt;
}

/// Hashes hexadecimal digits to nine letters and digits, which differ as often as nine characters allow.
std::string nine_characters_of(std::string_view hexadecimal) {
  constexpr std::string_view kPlain = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::uint64_t number = 14695981039346656037u;  // FNV-1a
  for (const char c : hexadecimal) number = (number ^ static_cast<unsigned char>(c)) * 1099511628211u;
  std::string id;
  for (; id.size() < 9; number /= kPlain.size()) id += kPlain[number % kPlain.size()];
  return id;
}

tl::unexpected<Error> unknown(std::string_view name, const std::vector<std::string_view>& names, std::string_view option) {
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no parser \"{}\"; the parsers are {}", printable_excerpt(name), fmt::join(names, ", ")),
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

std::string prompt_end(std::span<const TextSpan> spans, bool goes_on) {
  constexpr std::size_t kTemplateBytes = 64;  // room for the markers and blanks that a generation prompt ends with
  std::string end;
  if (goes_on && !spans.empty() && !spans.back().parse_special) {
    end = spans.back().text;
    spans = spans.first(spans.size() - 1);
  }
  if (spans.empty() || !spans.back().parse_special) return end;
  const std::string_view text = spans.back().text;
  return std::string(text.substr(text.size() - std::min(text.size(), kTemplateBytes))) + end;
}

std::vector<std::string_view> tool_call_format_names(bool with_others) {
  if (with_others) return all_names_of(call_formats());
  std::vector<std::string_view> names;
  for (const CallFormat* format : call_formats()) names.push_back(format->name);
  return names;
}

std::vector<std::string_view> reasoning_format_names() {
  std::vector<std::string_view> names;
  for (const ReasoningFormat& format : reasoning_formats()) names.push_back(format.name);
  return names;
}

std::vector<AnswerMarker> answer_markers(const AnswerFormats& formats, const Tokenizer& tokenizer) {
  const CallFormat* calls = find_call_format(formats.tool_calls);
  const ReasoningFormat* reasoning = find_reasoning_format(formats.reasoning);
  std::map<std::int32_t, AnswerMarker> found;
  const auto add = [&](const auto& markers, bool AnswerMarker::*purpose) {
    for (const std::string_view marker : markers) {
      const auto token = token_of(marker, tokenizer);
      if (token) found.try_emplace(token->id, *token).first->second.*purpose = true;
    }
  };
  if (is_harmony(calls, formats)) {
    add(kHarmonyMarkers, &AnswerMarker::of_calls);
    add(kHarmonyMarkers, &AnswerMarker::of_reasoning);
  }
  if (calls != nullptr) add(markers_of(*calls), &AnswerMarker::of_calls);
  if (reasoning != nullptr) {
    for (const auto& markers : {reasoning->begins, reasoning->ends, reasoning->wraps})
      add(markers, &AnswerMarker::of_reasoning);
  }
  std::vector<AnswerMarker> markers;
  for (auto& [id, marker] : found) markers.push_back(std::move(marker));
  return markers;
}

AnswerReading answer_reading(AnswerFormats formats, std::span<const AnswerMarker> markers) {
  AnswerReading reading{.formats = std::move(formats)};
  const bool calls = !reading.formats.tool_calls.empty(), reasoning = !reading.formats.reasoning.empty();
  std::copy_if(markers.begin(), markers.end(), std::back_inserter(reading.markers),
               [&](const AnswerMarker& marker) { return (calls && marker.of_calls) || (reasoning && marker.of_reasoning); });
  return reading;
}

Result<std::unique_ptr<AnswerParser>> make_answer_parser(const AnswerReading& reading, const AnswerStops& stops) {
  const AnswerFormats& formats = reading.formats;
  const CallFormat* calls = find_call_format(formats.tool_calls);
  const ReasoningFormat* reasoning = find_reasoning_format(formats.reasoning);
  if (calls == nullptr && !formats.tool_calls.empty())
    return unknown(formats.tool_calls, tool_call_format_names(true), "tool_call_parser");
  if (reasoning == nullptr && !formats.reasoning.empty())
    return unknown(formats.reasoning, reasoning_format_names(), "reasoning_parser");
  if (is_harmony(calls, formats)) return std::make_unique<HarmonyParser>(reading, stops);
  return std::make_unique<ScanningParser>(calls, reasoning, reading, stops);
}

std::string call_id(const AnswerFormats& formats, const ToolCall& call, std::size_t index, std::string_view random) {
  const CallFormat* format = find_call_format(formats.tool_calls);
  const CallIds form = format == nullptr ? CallIds::any : format->ids;
  if (form == CallIds::nine_characters) {
    const auto is_plain = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const bool fits = call.id.size() == 9 && std::all_of(call.id.begin(), call.id.end(), is_plain);
    return fits ? call.id : nine_characters_of(random);
  }
  if (!call.id.empty() && (form == CallIds::any || call.id.find(':') != call.id.npos)) return call.id;
  if (form == CallIds::name_and_index) return fmt::format("functions.{}:{}", call.name, index);
  return fmt::format("chatcmpl-tool-{}", random);
}

}  // namespace lathe::engine
