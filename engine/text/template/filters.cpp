// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/filters.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/template/methods.h"
#include "engine/text/template/operators.h"
#include "engine/text/template/padded_text.h"
#include "engine/text/template/to_json.h"
#include "engine/text/template/to_text.h"

namespace lathe::engine::jinja {
namespace {

bool flag_argument(const Arguments& a, std::size_t index, std::string_view name, bool fallback) {
  const Value* value = a.find(index, name);
  return value != nullptr ? is_true(*value) : fallback;
}

Value filter_default(Runtime&, const Value& v, const Arguments& a) {
  const bool missing = v.is_undefined() || (flag_argument(a, 1, "boolean", false) && !is_true(v));
  if (!missing) return v;
  const Value* fallback = a.find(0, "default_value");
  return fallback != nullptr ? *fallback : Value::text("");
}

Value filter_trim(Runtime& r, const Value& v, const Arguments& a) {
  return stripped(r, to_text(r, v), a.find(0, "chars"), Side::both);
}
Value filter_upper(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::upper); }
Value filter_lower(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::lower); }
Value filter_title(Runtime& r, const Value& v, const Arguments&) { return with_case(r, to_text(r, v), LetterCase::words); }
Value filter_capitalize(Runtime& r, const Value& v, const Arguments&) {
  return with_case(r, to_text(r, v), LetterCase::capitalized);
}
Value filter_string(Runtime& r, const Value& v, const Arguments&) {
  return v.as_text() != nullptr ? v : Value(to_text(r, v));
}
/// Nothing is escaped by itself, so nothing has to be called safe.
Value filter_safe(Runtime& r, const Value& v, const Arguments& a) { return filter_string(r, v, a); }

Value filter_replace(Runtime& r, const Value& v, const Arguments& a) {
  const std::int64_t count = integer_argument(a, 2, "count", -1);
  return replaced(r, to_text(r, v), text_argument(a, 0, "old"), text_argument(a, 1, "new"),
                  count < 0 ? std::numeric_limits<std::int64_t>::max() : count);
}

Value filter_escape(Runtime& r, const Value& v, const Arguments&) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kEscapes = {
      {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {"\"", "&#34;"}}};
  MarkedText text = to_text(r, v);
  for (const auto& [from, to] : kEscapes) {
    text = replaced(r, text, MarkedText(from, Source::model), MarkedText(to, Source::model),
                    std::numeric_limits<std::int64_t>::max());
  }
  return text;
}

Value filter_format(Runtime& r, const Value& v, const Arguments& a) {
  return format_text(r, to_text(r, v), Value::tuple(a.positional));
}

/// indent(width, first, blank): lines after the first move right.
Value filter_indent(Runtime& r, const Value& v, const Arguments& a) {
  const Value* width = a.find(0, "width");
  MarkedText lead;
  if (width != nullptr && width->as_text() != nullptr) {
    lead = *width->as_text();
  } else {
    const std::int64_t n = std::clamp<std::int64_t>(integer_argument(a, 0, "width", 4), 0, 1000);
    lead = MarkedText(std::string(static_cast<std::size_t>(n), ' '), Source::model);
  }
  const bool indent_first = flag_argument(a, 1, "first", false), indent_blank = flag_argument(a, 2, "blank", false);
  const MarkedText text = to_text(r, v);
  MarkedText out;
  for (std::size_t begin = 0, line = 0; begin <= text.size(); ++line) {
    const std::size_t end = std::min(text.text().find('\n', begin), text.size());
    const bool indents = line == 0 ? indent_first : indent_blank || end > begin;
    r.charge_growth(out.size(), end + 1 - begin + (indents ? lead.size() : 0));
    if (indents) out.append(lead);
    out.append_part(text, begin, std::min(end + 1, text.size()));
    begin = end + 1;
  }
  return out;
}

Value filter_center(Runtime& r, const Value& v, const Arguments& a) {
  return padded(r, to_text(r, v), integer_argument(a, 0, "width", 80), MarkedText(" ", Source::model), Align::center);
}

Value filter_truncate(Runtime& r, const Value& v, const Arguments& a) {
  const bool has_end = a.find(2, "end") != nullptr;
  return truncated(r, to_text(r, v), integer_argument(a, 0, "length", 255), flag_argument(a, 1, "killwords", false),
                   has_end ? text_argument(a, 2, "end") : MarkedText("...", Source::model),
                   integer_argument(a, 3, "leeway", 5));
}

/// What may not stand in an address as percent signs and hexadecimal digits.
MarkedText url_quoted(Runtime& r, const MarkedText& text, std::string_view safe) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~";
  MarkedText out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text.text()[at];
    const bool stays = kPlain.find(c) != kPlain.npos || safe.find(c) != safe.npos;
    const std::string quoted = stays ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    r.charge_growth(out.size(), quoted.size());
    out.append(quoted, text.source_at(at));
  }
  return out;
}

/// A text keeps its slashes; a dict, or a list of pairs, becomes a query.
Value filter_urlencode(Runtime& r, const Value& v, const Arguments&) {
  if (v.as_dict() == nullptr && v.as_list() == nullptr) return url_quoted(r, to_text(r, v), "/");
  Items parts;
  for (const Value& pair : v.as_dict() != nullptr ? items_of(r, find_method(v, "items")(r, v, {})) : items_of(r, v)) {
    const Items sides = items_of(r, pair);
    if (sides.size() != 2) throw Failure("urlencode needs pairs of a name and a value");
    MarkedText part;
    for (const Value& side : sides) {
      if (&side != &sides.front()) part.append("=", Source::model);
      part.append(replaced(r, url_quoted(r, to_text(r, side), ""), MarkedText("%20", Source::model),
                           MarkedText("+", Source::model), std::numeric_limits<std::int64_t>::max()));
    }
    parts.emplace_back(std::move(part));
  }
  return joined_items(r, MarkedText("&", Source::model), parts);
}

Value filter_wordcount(Runtime& r, const Value& v, const Arguments&) {
  return Value(
      static_cast<std::int64_t>(items_of(r, find_method(Value::text(""), "split")(r, Value(to_text(r, v)), {})).size()));
}

/// The text without blanks around it, for reading a number.
std::string number_source(Runtime& r, const Value& v) { return stripped(r, *v.as_text(), nullptr, Side::both).text(); }

Value filter_int(Runtime& r, const Value& v, const Arguments& a) {
  const Value* fallback = a.find(0, "default");
  if (const auto integer = v.as_integer()) return Value(*integer);
  std::optional<double> number = v.as_number();
  if (v.as_text() != nullptr) {
    const std::string text = number_source(r, v);
    const std::size_t plus = text.starts_with('+') ? 1 : 0;
    std::int64_t integer = 0;
    double real = 0;
    const char* end = text.data() + text.size();
    if (const auto read = std::from_chars(text.data() + plus, end, integer); read.ec == std::errc() && read.ptr == end)
      return Value(integer);
    if (const auto read = std::from_chars(text.data() + plus, end, real); read.ec == std::errc() && read.ptr == end)
      number = real;
  }
  if (number && std::abs(*number) < 9e18) return Value(static_cast<std::int64_t>(*number));
  return fallback != nullptr ? *fallback : Value(0);
}

Value filter_float(Runtime& r, const Value& v, const Arguments& a) {
  const Value* fallback = a.find(0, "default");
  if (const auto number = v.as_number()) return Value(*number);
  if (v.as_text() != nullptr) {
    const std::string text = number_source(r, v);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return Value(number);
  }
  return fallback != nullptr ? *fallback : Value(0.0);
}

Value filter_abs(Runtime&, const Value& v, const Arguments&) {
  if (const auto integer = v.as_integer()) return *integer < 0 ? negated(v) : Value(*integer);
  if (const auto number = v.as_number()) return Value(std::abs(*number));
  throw Failure(fmt::format("abs needs a number, got {}", type_name(v)));
}

Value filter_round(Runtime& r, const Value& v, const Arguments& a) {
  const auto number = v.as_number();
  if (!number) throw Failure(fmt::format("round needs a number, got {}", type_name(v)));
  const double scale =
      std::pow(10.0, static_cast<double>(std::clamp<std::int64_t>(integer_argument(a, 0, "precision", 0), -15, 15)));
  const Value* method = a.find(1, "method");
  const std::string how = method != nullptr ? to_text(r, *method).text() : "common";
  const double scaled = *number * scale;
  return Value((how == "ceil" ? std::ceil(scaled) : how == "floor" ? std::floor(scaled) : std::nearbyint(scaled)) / scale);
}

/// The arguments are those of transformers, not of Jinja: ensure_ascii, indent, separators, sort_keys.
Value filter_tojson(Runtime& r, const Value& v, const Arguments& a) {
  JsonStyle style;
  style.ascii = flag_argument(a, 0, "ensure_ascii", false);
  style.indent = integer_argument(a, 1, "indent", -1);
  style.sort_keys = flag_argument(a, 3, "sort_keys", false);
  if (style.indent > 64) throw Failure("tojson cannot indent by more than 64");
  if (style.indent >= 0) style.item_separator = ",";
  if (const Value* separators = a.find(2, "separators"); separators != nullptr && !separators->is_none()) {
    const Items parts = items_of(r, *separators);
    if (parts.size() != 2) throw Failure("separators must be two texts");
    style.item_separator = to_text(r, parts[0]).text();
    style.key_separator = to_text(r, parts[1]).text();
  }
  return to_json(r, v, style);
}

// THE TABLE of filters on single values; those on lists are in list_filters.cpp.
constexpr std::array kFilters = {
    NamedFilter{"default", filter_default},
    NamedFilter{"d", filter_default},
    NamedFilter{"trim", filter_trim},
    NamedFilter{"upper", filter_upper},
    NamedFilter{"lower", filter_lower},
    NamedFilter{"title", filter_title},
    NamedFilter{"capitalize", filter_capitalize},
    NamedFilter{"string", filter_string},
    NamedFilter{"safe", filter_safe},
    NamedFilter{"replace", filter_replace},
    NamedFilter{"escape", filter_escape},
    NamedFilter{"e", filter_escape},
    NamedFilter{"format", filter_format},
    NamedFilter{"indent", filter_indent},
    NamedFilter{"center", filter_center},
    NamedFilter{"truncate", filter_truncate},
    NamedFilter{"urlencode", filter_urlencode},
    NamedFilter{"wordcount", filter_wordcount},
    NamedFilter{"int", filter_int},
    NamedFilter{"float", filter_float},
    NamedFilter{"abs", filter_abs},
    NamedFilter{"round", filter_round},
    NamedFilter{"tojson", filter_tojson},
};

}  // namespace

Value run_filter(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments) {
  runtime.charge();
  for (const NamedFilter& filter : kFilters) {
    if (filter.name == name) return filter.filter(runtime, value, arguments);
  }
  if (const Filter filter = find_list_filter(name)) return filter(runtime, value, arguments);
  throw Failure(fmt::format("there is no filter \"{}\"", printable_excerpt(name)));
}

}  // namespace lathe::engine::jinja
