// SPDX-License-Identifier: Apache-2.0
#include "engine/api/option_value.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

tl::unexpected<Error> refuse(const OptionDescriptor& option, std::string_view what, std::string_view value) {
  return fail(ErrorCode::invalid_argument, fmt::format("{} must be {}, got {}", option.name, what, value),
              std::string(option.name));
}

std::string quoted(std::string_view text) { return '"' + printable_excerpt(text) + '"'; }

bool bounded(const OptionDescriptor& option) { return option.min != option.max; }

std::string range_text(const OptionDescriptor& option) {
  return fmt::format(fmt::runtime(option.excludes_min ? "greater than {} and at most {}" : "between {} and {}"),
                     number_text(option.min), number_text(option.max));
}

/// The choices with the empty one.
std::vector<std::string_view> all_choices(const OptionChoices& option) {
  if (option.empty()) return {};
  if (option.names != nullptr) return option.names();
  std::vector<std::string_view> choices;
  for (std::size_t begin = 0; begin <= option.values.size();) {
    const std::size_t end = std::min(option.values.find('|', begin), option.values.size());
    choices.push_back(option.values.substr(begin, end - begin));
    begin = end + 1;
  }
  return choices;
}

/// Parses the whole text as a number; from_chars accepts no blanks, no '+' and no local decimal comma.
template <class Number>
std::errc read_number(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end != text.data() + text.size()) return std::errc::invalid_argument;
  return error;
}

}  // namespace

std::string number_text(double value) {
  if (value == std::trunc(value) && std::abs(value) < 1e15) return fmt::format("{}", static_cast<std::int64_t>(value));
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return error == std::errc() ? std::string(buffer, end) : std::string("nan");
}

Result<void> check_range(const OptionDescriptor& option, double value) {
  const std::string text = number_text(value);
  if (!std::isfinite(value)) return refuse(option, bounded(option) ? range_text(option) : "a finite number", text);
  const bool is_below = value < option.min || (option.excludes_min && value == option.min);
  if (bounded(option) && (is_below || value > option.max)) return refuse(option, range_text(option), text);
  if (value != 0.0 && std::abs(value) < static_cast<double>(std::numeric_limits<float>::min())) {
    const bool allows_zero = !option.excludes_min || option.min < 0;
    return refuse(option,
                  fmt::format("{}of magnitude 1.2e-38 at least, the smallest normal float32", allows_zero ? "0 or " : ""),
                  text);
  }
  return {};
}

Result<void> check_range(const OptionDescriptor& option, std::int64_t value) {
  if (!bounded(option)) return {};
  if (value >= static_cast<std::int64_t>(option.min) && value <= static_cast<std::int64_t>(option.max)) return {};
  return refuse(option, range_text(option), fmt::format("{}", value));
}

Result<std::int64_t> parse_integer(const OptionDescriptor& option, std::string_view text) {
  std::int64_t value = 0;
  const std::errc error = read_number(text, value);
  if (error == std::errc::result_out_of_range) {
    return refuse(option, bounded(option) ? range_text(option) : "a 64-bit whole number", printable_excerpt(text));
  }
  if (error != std::errc()) return refuse(option, "a whole number", quoted(text));
  LATHE_TRY_VOID(check_range(option, value));
  return value;
}

Result<double> parse_number(const OptionDescriptor& option, std::string_view text) {
  double value = 0;
  const std::errc error = read_number(text, value);
  if (error == std::errc::result_out_of_range) {
    return refuse(option, bounded(option) ? range_text(option) : "a finite number", printable_excerpt(text));
  }
  if (error != std::errc()) return refuse(option, "a number", quoted(text));
  LATHE_TRY_VOID(check_range(option, value));
  return value;
}

Result<bool> parse_boolean(const OptionDescriptor& option, std::string_view text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return refuse(option, "true or false", quoted(text));
}

std::vector<std::string_view> choices_of(const OptionDescriptor& option) {
  std::vector<std::string_view> choices = all_choices(option.choices);
  std::erase(choices, std::string_view());
  return choices;
}

std::string named_choices(const OptionDescriptor& option) {
  std::vector<std::string_view> names = choices_of(option);
  if (!option.choices.form.empty()) names.push_back(option.choices.form);
  return fmt::format("{}", fmt::join(names, "|"));
}

bool may_be_empty(const OptionDescriptor& option) {
  const std::vector<std::string_view> choices = all_choices(option.choices);
  return std::find(choices.begin(), choices.end(), std::string_view()) != choices.end();
}

Result<std::string> parse_choice(const OptionDescriptor& option, std::string_view text,
                                 std::span<const std::string_view> also) {
  if (option.choices.has_form != nullptr && option.choices.has_form(text)) return std::string(text);
  const bool nothing = text.empty() && may_be_empty(option);
  std::vector<std::string_view> names = choices_of(option);
  if (nothing || std::find(names.begin(), names.end(), text) != names.end()) return std::string(text);
  names.insert(names.end(), also.begin(), also.end());
  const std::string_view nearest = nearest_name(text, names);
  return refuse(option, fmt::format("one of {}", named_choices(option)),
                quoted(text) + (nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)) +
                    (also.empty() ? "" : fmt::format(" (also accepted, from other systems: {})", fmt::join(also, ", "))));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names) {
  const std::string_view head = text.substr(0, 64);  // a longer name resembles no option
  std::string_view nearest;
  std::size_t best = std::min(std::max<std::size_t>(2, head.size() / 3) + 1, head.size());  // at least one letter must match
  for (const std::string_view name : names) {
    const std::string_view begin = name.substr(0, head.size());
    std::size_t distance = std::min(edit_distance(head, name), edit_distance(head, begin) + 1);  // "int7": int8_g32
    if (head.size() > 1 && name.find(head) != name.npos) distance = name.starts_with(head) ? 0 : 1;
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

Error unknown_option(std::string_view name, std::span<const OptionDescriptor> table) {
  std::vector<std::string_view> names;
  for (const OptionDescriptor& option : table) names.push_back(option.name);
  const std::string_view nearest = nearest_name(name, names);
  std::string message = fmt::format("there is no option {}", quoted(name));
  if (!nearest.empty()) message += fmt::format("; did you mean {}?", nearest);
  return {ErrorCode::invalid_argument, std::move(message), printable_excerpt(name)};
}

}  // namespace lathe::engine
