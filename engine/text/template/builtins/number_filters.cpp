// SPDX-License-Identifier: Apache-2.0
// Filters that make, round or format numbers.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "engine/text/template/builtins/filters.h"
#include "engine/text/template/builtins/methods.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/text_changes.h"
#include "engine/text/template/runtime/to_text.h"
#include "engine/text/template/runtime/whole_number.h"

namespace lathe::engine::jinja {
namespace {

/// Returns the text in the form that Python's int() and float() accept: without surrounding blanks and without single _
/// between digits. Empty if they would not accept it.
std::string number_source(Runtime& r, const MarkedText& value) {
  const std::string text = stripped(r, value, nullptr, Side::both).text();
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && std::isxdigit(static_cast<unsigned char>(text[at])) != 0;
    };
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return {};
    }
  }
  return out;
}

/// Returns int(text, base); nothing where Python would raise.
std::optional<Value> read_integer(std::string text, std::int64_t base) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.erase(0, 1);
  const char kind = text.size() > 1 && text[0] == '0' ? static_cast<char>(text[1] | 0x20) : '\0';
  const int named = kind == 'x' ? 16 : kind == 'o' ? 8 : kind == 'b' ? 2 : 0;
  if (named != 0 && (base == 0 || base == named)) {
    text.erase(0, 2);
    base = named;
  } else if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of('0') != text.npos) return std::nullopt;
  }
  if (text.empty() || text[0] == '-' || base < 2 || base > 36) return std::nullopt;
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, static_cast<int>(base));
  if (end != text.data() + text.size()) return std::nullopt;
  if (error != std::errc::result_out_of_range)
    return Value::whole(*whole_digits((negative ? "-" : "") + fmt::format("{}", magnitude)));
  if (base != 10) throw Failure("a whole number that is not decimal does not fit into 64 bits");
  if (text.size() > kMaxWholeDigits) return std::nullopt;
  return Value::whole(*whole_digits((negative ? "-" : "") + text));
}

/// Returns float(text); nothing where Python would raise.
std::optional<double> read_float(const std::string& text) {
  const std::size_t plus = text.starts_with('+') ? 1 : 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data() + plus, text.data() + text.size(), number);
  const bool signed_twice = plus == 1 && text.size() > 1 && text[1] == '-';
  if (text.size() == plus || signed_twice || end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return std::strtod(text.c_str() + plus, nullptr);
  return number;
}

Value filter_int(Runtime& r, const Value& v, const Arguments& a) {
  const Value* fallback = a.find(0, "default");
  require_defined(v);
  if (v.as_long() != nullptr) return v;
  if (const auto integer = v.as_integer()) return Value(*integer);
  std::optional<double> number = v.as_number();
  if (v.as_text() != nullptr) {
    const std::string text = number_source(r, *v.as_text());
    if (auto integer = read_integer(text, integer_argument(a, 1, "base", 10))) return std::move(*integer);
    number = read_float(text);
  }
  if (!number || !std::isfinite(*number)) return fallback != nullptr ? *fallback : Value(0);
  return Value::whole(*whole_digits(fmt::format("{:.0f}", std::trunc(*number))));
}

Value filter_float(Runtime& r, const Value& v, const Arguments& a) {
  const Value* fallback = a.find(0, "default");
  require_defined(v);
  if (const auto number = v.as_number()) return Value(*number);
  if (v.as_text() != nullptr) {
    if (const auto number = read_float(number_source(r, *v.as_text()))) return Value(*number);
  }
  return fallback != nullptr ? *fallback : Value(0.0);
}

Value filter_abs(Runtime&, const Value& v, const Arguments&) {
  require_defined(v);
  if (const std::string* digits = v.as_long()) return digits->starts_with('-') ? negated(v) : v;
  if (const auto integer = v.as_integer()) return *integer < 0 ? negated(v) : Value(*integer);
  if (const auto number = v.as_number()) return Value(std::abs(*number));
  throw Failure(fmt::format("abs needs a number, got {}", type_name(v)));
}

/// Returns round(number, -n_digits): the nearest multiple of 10^n_digits, halves to even. It does not use a float, which has
/// only 53 bits.
std::int64_t rounded_whole(std::int64_t number, std::int64_t n_digits) {
  if (n_digits > 19) return 0;  // half of 10^20 is more than any 64-bit integer
  std::uint64_t scale = 1;
  for (std::int64_t i = 0; i < n_digits; ++i) scale *= 10;
  const auto bits = static_cast<std::uint64_t>(number);
  const std::uint64_t magnitude = number < 0 ? ~bits + 1 : bits;
  const std::uint64_t rest = magnitude % scale, half = scale / 2;
  std::uint64_t out = magnitude - rest;
  if (scale > 1 && (rest > half || (rest == half && magnitude / scale % 2 == 1))) out += scale;
  if (out > static_cast<std::uint64_t>(INT64_MAX)) throw Failure("a whole number does not fit into 64 bits");
  return number < 0 ? -static_cast<std::int64_t>(out) : static_cast<std::int64_t>(out);
}

/// Returns round(number, precision): the number with so many digits that is nearest to the shortest decimal form of
/// `number`; halves to even.
double rounded(double number, std::int64_t precision) {
  if (!std::isfinite(number)) return number;
  if (precision >= 0) {
    const std::string text = fmt::format("{:.{}f}", number, std::min<std::int64_t>(precision, 330));
    double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  }
  const double scale = std::pow(10.0, static_cast<double>(-std::max<std::int64_t>(precision, -400)));
  const double out = std::isfinite(scale) ? std::nearbyint(number / scale) * scale : std::copysign(0.0, number);
  if (!std::isfinite(out)) throw Failure("round: the number is too large");
  return out;
}

/// Returns a float computed like jinja2's ceil(number * 10^precision) / 10^precision, or with floor.
double rounded_one_way(const Value& value, std::int64_t precision, bool up) {
  const double number = *value.as_number();
  if (value.as_integer() && precision >= 0) return number;  // Python's integers have any length
  const double scale = std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(precision, -400, 400)));
  const double scaled = number * scale;
  if (!std::isfinite(scale) || scale == 0 || !std::isfinite(scaled)) throw Failure("round: the number is too large");
  return ((up ? std::ceil(scaled) : std::floor(scaled)) + 0.0) / scale;  // + 0.0 turns -0 into 0
}

Value filter_round(Runtime& r, const Value& v, const Arguments& a) {
  require_defined(v);
  const auto number = v.as_number();
  if (!number) throw Failure(fmt::format("round needs a number, got {}", type_name(v)));
  const std::int64_t precision = integer_argument(a, 0, "precision", 0);
  const Value* method = a.find(1, "method");
  const std::string how = method != nullptr ? to_text(r, *method).text() : "common";
  if (how == "common") {
    if (v.as_long() != nullptr && precision >= 0) return v;
    if (v.as_long() != nullptr) throw Failure("round: whole numbers of more than 64 bits are not rounded");
    const auto integer = v.as_integer();
    if (!integer) return Value(rounded(*number, precision));
    return Value(precision < 0 ? rounded_whole(*integer, -std::max<std::int64_t>(precision, -20)) : *integer);
  }
  if (how != "ceil" && how != "floor") throw Failure("round: the method must be common, ceil or floor");
  return Value(rounded_one_way(v, precision, how == "ceil"));
}

Value filter_filesizeformat(Runtime& r, const Value& v, const Arguments& a) {
  constexpr std::array<char, 8> kPrefixes = {'k', 'M', 'G', 'T', 'P', 'E', 'Z', 'Y'};
  const Value* flag = a.find(0, "binary");
  const bool binary = flag != nullptr && is_true(*flag);
  const Value size = filter_float(r, v, Arguments{.positional = {Value::none()}, .named = {}});
  if (size.is_none()) throw Failure("filesizeformat needs a number");
  const double bytes = *size.as_number(), base = binary ? 1024 : 1000;
  if (bytes == 1) return Value::text("1 Byte");
  if (bytes < base) return Value::text(fmt::format("{} Bytes", static_cast<std::int64_t>(std::max(bytes, -9e18))));
  double unit = base * base;
  std::size_t i = 0;
  for (; i + 1 < kPrefixes.size() && bytes >= unit; ++i) unit *= base;
  const std::string prefix =
      binary ? std::string(1, static_cast<char>(std::toupper(kPrefixes[i]))) + "i" : std::string(1, kPrefixes[i]);
  return Value::text(fmt::format("{:.1f} {}B", base * bytes / unit, prefix));
}

// THE TABLE of filters on numbers.
constexpr std::array kNumberFilters = {
    NamedFilter{"int", filter_int, "default base"},
    NamedFilter{"float", filter_float, "default"},
    NamedFilter{"abs", filter_abs, ""},
    NamedFilter{"round", filter_round, "precision method"},
    NamedFilter{"filesizeformat", filter_filesizeformat, "binary"},
};

}  // namespace

const NamedFilter* find_number_filter(std::string_view name) {
  for (const NamedFilter& filter : kNumberFilters) {
    if (filter.name == name) return &filter;
  }
  return nullptr;
}

}  // namespace lathe::engine::jinja
