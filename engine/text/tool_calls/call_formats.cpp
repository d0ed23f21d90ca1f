// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>

#include "engine/api/table.h"
#include "engine/text/tool_calls/call_format.h"

namespace lathe::engine {

// THE TABLE of tool call formats: one file in formats/ and one line here for each. If formats have a common marker, the more
// specific one comes first: Qwen3-Coder and GLM before Hermes.
LATHE_TABLE(CallFormat, kFormats,
  kOpenaiCalls,
  kKimiK2Calls,
  kMinimaxM2Calls,
  kMinimaxCalls,
  kDeepseekV3Calls,
  kGemma4Calls,
  kQwen3CoderCalls,
  kGlm45Calls,
  kMistralCalls,
  kGraniteCalls,
  kFunctionGemmaCalls,
  kHermesCalls,
  kPythonicCalls,
  kLlama3JsonCalls,
  kJsonCalls,
);

std::span<const CallFormat* const> call_formats() { return kFormats; }

const CallFormat* find_call_format(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto has_name = [&](const CallFormat* format) {
    const auto& others = format->other_names;
    return format->name == name || std::find(others.begin(), others.end(), name) != others.end();
  };
  const auto found = std::find_if(call_formats().begin(), call_formats().end(), has_name);
  return found == call_formats().end() ? nullptr : *found;
}

std::vector<std::string_view> all_names_of(std::span<const CallFormat* const> formats) {
  std::vector<std::string_view> names;
  for (const CallFormat* format : formats) {
    names.push_back(format->name);
    std::copy_if(format->other_names.begin(), format->other_names.end(), std::back_inserter(names),
                 [](std::string_view other) { return !other.empty(); });
  }
  return names;
}

bool has_telltales(std::string_view chat_template, std::span<const std::string_view> telltales) {
  const auto occurs = [&](std::string_view telltale) { return chat_template.find(telltale) != chat_template.npos; };
  const bool any =
      std::any_of(telltales.begin(), telltales.end(), [](std::string_view telltale) { return !telltale.empty(); });
  return any && std::all_of(telltales.begin(), telltales.end(), occurs);
}

std::string_view closing_marker(const CallFormat& format) {
  if (!format.end.empty()) return format.end;
  const auto& wraps = format.wraps;
  const auto last = std::find_if(wraps.rbegin(), wraps.rend(), [](std::string_view wrap) { return !wrap.empty(); });
  return last == wraps.rend() ? std::string_view() : *last;
}

std::vector<std::string_view> markers_of(const CallFormat& format) {
  std::vector<std::string_view> markers = {format.end, format.quote};
  markers.insert(markers.end(), format.inner.begin(), format.inner.end());
  markers.insert(markers.end(), format.begins.begin(), format.begins.end());
  markers.insert(markers.end(), format.wraps.begin(), format.wraps.end());
  if (const TagForm* tags = format.tags) {
    markers.insert(markers.end(), {tags->call_open, tags->call_close, tags->key_open, tags->key_close, tags->value_open,
                                   tags->value_close});
  }
  // ">" and similar tags are pieces of every vocabulary, but not markers by themselves.
  std::erase_if(markers, [](std::string_view marker) { return marker.size() < 2; });
  return markers;
}

}  // namespace lathe::engine
