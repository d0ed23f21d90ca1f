// SPDX-License-Identifier: Apache-2.0
// Values of options as text: parsing, printing and range checks with the words that users read. Independent of the locale.
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
/// The value itself when it is one of option.choices. Errors: invalid_argument with those, with the names in `also` (which
/// other systems give to them), and with the nearest of all.
Result<std::string> parse_choice(const OptionDescriptor& option, std::string_view text,
                                 std::span<const std::string_view> also = {});
/// What was probably meant: a name that begins with the text, has it inside, or differs in few letters; empty: none is near.
std::string_view nearest_name(std::string_view text, std::span<const std::string_view> names);

/// Errors: invalid_argument with range and value; NaN, infinities and numbers that a float cannot tell from 0 are refused.
Result<void> check_range(const OptionDescriptor& option, double value);
Result<void> check_range(const OptionDescriptor& option, std::int64_t value);

/// The shortest text that reads back as the same number.
std::string number_text(double value);

/// "does not exist" error that names the nearest known option when one is near.
Error unknown_option(std::string_view name, std::span<const OptionDescriptor> table);

}  // namespace lathe::engine
