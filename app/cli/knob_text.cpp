// SPDX-License-Identifier: Apache-2.0
#include "app/cli/knob_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::app {
namespace {

using engine::OrderedJson;

// Longer lists (factors of RoPE, slopes of ALiBi) would hide the other knobs; --json has them.
constexpr std::size_t kMaxListed = 16;

std::string words(const OrderedJson& value);

template <class Each>
std::string joined(const OrderedJson& values, std::string_view between, const Each& each) {
  std::string text;
  for (const auto& [key, value] : values.items()) {
    const std::string part = each(key, value);
    if (!part.empty()) text += (text.empty() ? "" : std::string(between)) + part;
  }
  return text;
}

std::string list_text(const OrderedJson& list) {
  const auto is_first = [&](const OrderedJson& value) { return value == list.front(); };
  if (list.size() > 1 && std::all_of(list.begin(), list.end(), is_first)) {
    return list.front().is_null() ? "" : fmt::format("{} in all {}", words(list.front()), list.size());
  }
  if (list.size() > kMaxListed && list.front().is_number_float()) return fmt::format("{} numbers", list.size());
  const bool is_flat = list.empty() || !list.front().is_object();
  return joined(list, is_flat ? ", " : "; ", [](const std::string&, const OrderedJson& value) {
    return value.is_null() ? std::string("-") : words(value);
  });
}

/// Formats a value; empty: the model does not have this knob.
std::string words(const OrderedJson& value) {
  if (value.is_null()) return {};
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:g}", value.get<double>());
  if (value.is_array()) return list_text(value);
  if (!value.is_object()) return engine::dump_json(value);
  return joined(value, ", ", [](const std::string& key, const OrderedJson& part) {
    const std::string text = words(part);
    return text.empty() ? text : key + " " + text;
  });
}

}  // namespace

std::string knob_lines(const OrderedJson& knobs) {
  return joined(knobs, "", [](const std::string& key, const OrderedJson& value) {
    const std::string text = words(value);
    return text.empty() ? text : fmt::format("  {:<24}{}\n", key, text);
  });
}

}  // namespace lathe::app
