// SPDX-License-Identifier: Apache-2.0
// Source: Go, time.ParseDuration, which reads the durations of ollama.
#include "app/server/dialects/ollama/keep_alive.h"

#include <algorithm>
#include <array>
#include <optional>

#include "app/log/printable.h"

namespace lathe::app::ollama {
namespace {

using engine::Json;

constexpr std::array<std::string_view, 8> kUnits = {"ns", "us", "\xC2\xB5s", "\xCE\xBCs", "ms", "s", "m", "h"};

/// Returns whether a duration is zero; nothing for a text that is no duration. A number without a unit is one only if it is
/// 0.
std::optional<bool> is_zero_duration(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return true;
  bool is_zero = true;
  for (std::size_t n_parts = 0; !text.empty() || n_parts == 0; ++n_parts) {
    const std::string_view number = text.substr(0, text.find_first_not_of("0123456789."));
    text.remove_prefix(number.size());
    const std::string_view unit = text.substr(0, text.find_first_of("0123456789."));
    text.remove_prefix(unit.size());
    const bool has_digit = number.find_first_of("0123456789") != number.npos;
    if (!has_digit || std::count(number.begin(), number.end(), '.') > 1) return std::nullopt;
    if (std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) return std::nullopt;
    is_zero = is_zero && number.find_first_of("123456789") == number.npos;
  }
  return is_zero;
}

}  // namespace

bool read_keep_alive(RequestFields& body) {
  constexpr const char* kName = "keep_alive";
  const Json* value = body.any(kName);
  if (value == nullptr || *value == "" || *value == false) return false;
  std::optional<bool> is_zero;
  if (value->is_number()) is_zero = *value == 0;
  if (value->is_string()) is_zero = is_zero_duration(value->get_ref<const std::string&>());
  if (!is_zero) {
    body.refuse(kName,
                "must be a number of seconds or a duration such as \"5m\", got " + printable(engine::dump_json(*value), 60));
    return false;
  }
  if (*is_zero) body.warn(kName, "asks to unload the model, and was ignored: the model stays loaded");
  return *is_zero;
}

}  // namespace lathe::app::ollama
