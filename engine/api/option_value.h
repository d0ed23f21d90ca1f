// SPDX-License-Identifier: Apache-2.0
// Option values as text: parsing, printing, and range checks with messages for users. Independent of the locale.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/api/options.h"
#include "engine/api/result.h"

namespace lathe::engine {

Result<std::int64_t> parse_integer(const OptionDescriptor& option, std::string_view text);
Result<double> parse_number(const OptionDescriptor& option, std::string_view text);
Result<bool> parse_boolean(const OptionDescriptor& option, std::string_view text);
/// Returns the value if it is one of option.choices, or has their form. Errors: invalid_argument with the choices, with
/// `also` (names of other systems), and with the nearest name.
Result<std::string> parse_choice(const OptionDescriptor& option, std::string_view text,
                                 std::span<const std::string_view> also = {});
/// The name that was probably meant: it begins with the text, contains it, or differs in few letters. Empty: none does.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

/// Errors: invalid_argument with range and value, also for NaN, infinities and values other than 0 that round to 0 as float.
Result<void> check_range(const OptionDescriptor& option, double value);
Result<void> check_range(const OptionDescriptor& option, std::int64_t value);

/// The shortest text that reads back as the same number.
std::string number_text(double value);

/// Error for an option that does not exist; it names the nearest known option if one is near.
Error unknown_option(std::string_view name, std::span<const OptionDescriptor> table);

}  // namespace lathe::engine
