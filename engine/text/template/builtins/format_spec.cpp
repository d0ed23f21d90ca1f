// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/format_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/padded_text.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

constexpr std::string_view kAligns = "<>^=", kIntegerTypes = "bcdnoxX", kFloatTypes = "eEfFgGn%";

/// Reads a format specification from the left.
struct SpecReader {
  std::string_view rest;

  char take_one_of(std::string_view wanted) {
    if (rest.empty() || wanted.find(rest.front()) == wanted.npos) return '\0';
    const char c = rest.front();
    rest.remove_prefix(1);
    return c;
  }
  /// Returns nothing if no digit follows.
  std::optional<std::int64_t> take_number() {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (error == std::errc::result_out_of_range) throw Failure("format: a number is too large");
    if (error != std::errc() || rest.front() == '-') return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return number;
  }
};

/// Returns the digits of a float without its sign. Without a type but with a precision: as 'g', but always with a digit
/// after the point.
std::string float_digits(double magnitude, const FormatSpec& spec) {
  if (!std::isfinite(magnitude)) {
    const bool upper = spec.type == 'F' || spec.type == 'E' || spec.type == 'G';
    return std::string(std::isnan(magnitude) ? (upper ? "NAN" : "nan") : (upper ? "INF" : "inf")) +
           (spec.type == '%' ? "%" : "");
  }
  if (spec.type == '\0' && spec.precision < 0) return float_text(magnitude);
  const int precision = spec.precision < 0 ? 6 : spec.precision;
  if (spec.type == '%') return fmt::format("{:.{}f}%", magnitude * 100, precision);
  if (spec.type == '\0') {
    std::string digits = fmt::format("{:.{}g}", magnitude, std::max(precision, 1));
    if (digits.find_first_of(".e") != digits.npos) return digits;
    if (static_cast<int>(digits.size()) < precision) return digits + ".0";
    return fmt::format("{:.{}e}", magnitude, std::max(precision, 1) - 1);
  }
  const char type = spec.type == 'n' ? 'g' : spec.type;
  const int at_least = type == 'g' || type == 'G' ? std::max(precision, 1) : precision;
  const std::string pattern = std::string(spec.alternate ? "{:#.{}" : "{:.{}") + type + "}";
  return fmt::format(fmt::runtime(pattern), magnitude, at_least);
}

std::string integer_digits(std::uint64_t magnitude, const FormatSpec& spec) {
  const char* prefix = !spec.alternate    ? ""
                       : spec.type == 'b' ? "0b"
                       : spec.type == 'o' ? "0o"
                       : spec.type == 'x' ? "0x"
                       : spec.type == 'X' ? "0X"
                                          : "";
  switch (spec.type) {
    case 'b': return fmt::format("{}{:b}", prefix, magnitude);
    case 'o': return fmt::format("{}{:o}", prefix, magnitude);
    case 'x': return fmt::format("{}{:x}", prefix, magnitude);
    case 'X': return fmt::format("{}{:X}", prefix, magnitude);
    default: return fmt::format("{}", magnitude);
  }
}

/// Inserts separators between groups of three digits (four for the types b, o and x) of the first `n_whole` digits, with
/// leading zeros up to `width` if it is not 0.
std::string grouped(std::string digits, std::size_t n_whole, const FormatSpec& spec, std::int64_t width) {
  const std::size_t group = spec.type == 'b' || spec.type == 'o' || spec.type == 'x' || spec.type == 'X' ? 4 : 3;
  const std::string behind = digits.substr(n_whole);
  digits.resize(n_whole);
  const auto size_with = [&](std::size_t n) {
    return static_cast<std::int64_t>(n + (n == 0 ? 0 : (n - 1) / group) + behind.size());
  };
  while (size_with(digits.size()) < width) digits.insert(digits.begin(), '0');
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % group == 0) out += spec.grouping;
    out += digits[i];
  }
  return out + behind;
}

/// Places the sign and the fill. `n_whole` digits precede the point, or the end of the integer part.
MarkedText aligned_number(Runtime& runtime, const std::string& sign, std::string digits, std::size_t n_whole,
                          const FormatSpec& spec) {
  const bool fills_behind_sign = spec.align == '=';
  const std::int64_t width = std::max<std::int64_t>(0, spec.width - static_cast<std::int64_t>(sign.size()));
  if (spec.grouping != '\0') {
    const bool with_zeros = fills_behind_sign && spec.fill == "0";
    if (with_zeros && width > kMaxPrecision) throw Failure("format: the width is too large");
    digits = grouped(std::move(digits), n_whole, spec, with_zeros ? width : 0);
  }
  const MarkedText fill(spec.fill, Source::model);
  if (!fills_behind_sign) {
    const Align align = spec.align == '<' ? Align::left : spec.align == '^' ? Align::middle : Align::right;
    return padded(runtime, MarkedText(sign + digits, Source::model), spec.width, fill, align);
  }
  MarkedText out(sign, Source::model);
  out.append(padded(runtime, MarkedText(digits, Source::model), width, fill, Align::right));
  return out;
}

MarkedText one_character(Runtime& runtime, std::int64_t code, const FormatSpec& spec) {
  if (code < 0 || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
    throw Failure("format: no character has this number");
  std::string text;
  append_utf8(text, static_cast<char32_t>(code));
  FormatSpec as_text = spec;
  as_text.precision = -1;
  if (as_text.align == '\0') as_text.align = '<';
  return formatted_text(runtime, MarkedText(text, Source::model), as_text);
}

}  // namespace

FormatSpec parse_format_spec(std::string_view text) {
  FormatSpec spec;
  SpecReader reader{text};
  const std::size_t first = text.empty() ? 0 : read_utf8(text, 0).size;
  if (first > 0 && first < text.size() && kAligns.find(text[first]) != kAligns.npos) {
    spec.fill = std::string(text.substr(0, first));
    reader.rest.remove_prefix(first);
  }
  spec.align = reader.take_one_of(kAligns);
  if (const char sign = reader.take_one_of("+- ")) spec.sign = sign;
  spec.alternate = reader.take_one_of("#") != '\0';
  if (reader.take_one_of("0") != '\0' && spec.align == '\0') {
    spec.fill = "0";
    spec.align = '=';
  }
  spec.width = reader.take_number().value_or(0);
  spec.grouping = reader.take_one_of(",_");
  if (reader.take_one_of(".") != '\0') {
    const auto precision = reader.take_number();
    if (!precision) throw Failure("format: the precision is missing");
    if (*precision > kMaxPrecision) throw Failure(fmt::format("format: the precision is more than {}", kMaxPrecision));
    spec.precision = static_cast<int>(*precision);
  }
  spec.type = reader.take_one_of("bcdeEfFgGnosxX%");
  if (!reader.rest.empty())
    throw Failure(fmt::format("format: the specification \"{}\" is not understood", printable_excerpt(text)));
  return spec;
}

MarkedText formatted_text(Runtime& runtime, const MarkedText& text, const FormatSpec& spec) {
  std::size_t kept = text.size();
  if (spec.precision >= 0) {
    runtime.charge_text(text.size());
    kept = 0;
    for (int n = 0; n < spec.precision && kept < text.size(); ++n) kept += read_utf8(text.text(), kept).size;
  }
  const MarkedText fill(spec.fill, Source::model);
  const Align align = spec.align == '>' ? Align::right : spec.align == '^' ? Align::middle : Align::left;
  return padded(runtime, text.part(0, kept), spec.width, fill, align);
}

MarkedText formatted_number(Runtime& runtime, const Value& value, const FormatSpec& spec) {
  const std::string* const long_digits = value.as_long();
  const auto integer =
      long_digits != nullptr ? std::optional<std::int64_t>(long_digits->starts_with('-') ? -1 : 1) : value.as_integer();
  const bool as_integer = integer && (spec.type == '\0' || kIntegerTypes.find(spec.type) != kIntegerTypes.npos);
  if (!as_integer && spec.type != '\0' && kFloatTypes.find(spec.type) == kFloatTypes.npos)
    throw Failure(fmt::format("format: the type {} is not for {}", spec.type, type_name(value)));
  if (as_integer && spec.precision >= 0) throw Failure("format: a whole number has no precision");
  if (as_integer && long_digits != nullptr && spec.type != '\0' && spec.type != 'd' && spec.type != 'n')
    throw Failure("format: whole numbers of more than 64 bits are written in decimal only");
  if (as_integer && spec.type == 'c') return one_character(runtime, *integer, spec);
  const double number = *value.as_number();
  const bool negative = as_integer ? *integer < 0 : std::signbit(number) && !std::isnan(number);
  const std::uint64_t magnitude = !as_integer    ? 0
                                  : *integer < 0 ? ~static_cast<std::uint64_t>(*integer) + 1
                                                 : static_cast<std::uint64_t>(*integer);
  std::string digits = as_integer ? integer_digits(magnitude, spec) : float_digits(std::abs(number), spec);
  if (as_integer && long_digits != nullptr) digits = long_digits->substr(negative ? 1 : 0);
  std::string sign = negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
  if (as_integer && spec.alternate && digits.size() > 2 && digits[0] == '0' &&
      std::isalpha(static_cast<unsigned char>(digits[1])) != 0) {
    sign += digits.substr(0, 2);  // zeros follow 0x too
    digits.erase(0, 2);
  }
  const std::size_t n_whole = as_integer ? digits.size() : std::min(digits.find_first_of(".eE%"), digits.size());
  FormatSpec how = spec;
  if (!as_integer && !std::isfinite(number)) how.grouping = '\0';  // inf and the zeros before it are not grouped
  return aligned_number(runtime, sign, std::move(digits), n_whole, how);
}

MarkedText formatted(Runtime& runtime, const Value& value, const FormatSpec& spec) {
  if (value.as_number()) return formatted_number(runtime, value, spec);
  if (value.as_text() == nullptr) throw Failure(fmt::format("format: {} takes no specification", type_name(value)));
  if (spec.type != '\0' && spec.type != 's') throw Failure(fmt::format("format: the type {} is not for str", spec.type));
  if (spec.align == '=' && spec.fill != "0") throw Failure("format: = is not for str");
  if (spec.sign != '-' || spec.grouping != '\0' || spec.alternate)
    throw Failure("format: a string has no sign and no grouping");
  return formatted_text(runtime, *value.as_text(), spec);
}

}  // namespace lathe::engine::jinja
