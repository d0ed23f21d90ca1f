// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/format_fields.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/padded_text.h"
#include "engine/text/template/builtins/spread_arguments.h"
#include "engine/text/template/builtins/text_changes.h"
#include "engine/text/template/builtins/text_kinds.h"
#include "engine/text/template/builtins/text_search.h"
#include "engine/text/template/builtins/text_splits.h"

namespace lathe::engine::jinja {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

const MarkedText& self_text(const Value& self) { return *self.as_text(); }

/// Returns the text and charges for it: for a method that reads the whole text.
const MarkedText& whole_text(Runtime& runtime, const Value& self) {
  runtime.charge_text(self_text(self).size());
  return self_text(self);
}

Value text_strip(Runtime& r, const Value& self, const Arguments& a) {
  return stripped(r, self_text(self), a.find(0, "chars"), Side::both);
}
Value text_lstrip(Runtime& r, const Value& self, const Arguments& a) {
  return stripped(r, self_text(self), a.find(0, "chars"), Side::left);
}
Value text_rstrip(Runtime& r, const Value& self, const Arguments& a) {
  return stripped(r, self_text(self), a.find(0, "chars"), Side::right);
}
Value text_upper(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::upper);
}
Value text_lower(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::lower);
}
Value text_title(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::title);
}
Value text_swapcase(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::swapped);
}
Value text_casefold(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::folded);
}
Value text_capitalize(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::capitalized);
}

/// The part of a text that a method with the arguments start and end searches.
struct Window {
  std::string_view text;
  std::size_t offset = 0;   ///< offset of the window in the text. Units: bytes
  bool beyond_end = false;  ///< the window begins after the end of the text: not even an empty part is found
};

Window window_of(Runtime& runtime, const Value& self, const Arguments& a) {
  const std::string_view all = self_text(self).text();
  if (a.find(1, "start") == nullptr && a.find(2, "end") == nullptr) return {all};
  runtime.charge_text(all.size());
  const std::int64_t n = n_characters(all);
  const auto bound = [&](std::size_t index, std::string_view name, std::int64_t fallback) {
    const std::int64_t asked = integer_argument(a, index, name, fallback);
    return asked < 0 ? std::max<std::int64_t>(0, asked + n) : asked;
  };
  const std::int64_t start = bound(1, "start", 0), end = std::min(n, bound(2, "end", n));
  if (start > n || end < start) return {{}, all.size(), true};
  const auto bytes = [&](std::string_view text, std::int64_t n_first) {
    std::size_t at = 0;
    for (; n_first > 0; --n_first) at += read_utf8(text, at).size;
    return at;
  };
  const std::size_t offset = bytes(all, start);
  return {all.substr(offset, bytes(all.substr(offset), end - start)), offset};
}

/// Implements startswith and endswith, which take one text or a tuple of texts.
bool has_affix(Runtime& runtime, const Value& self, const Arguments& arguments, bool at_end) {
  const Window window = window_of(runtime, self, arguments);
  const auto matches = [&](const MarkedText& affix) {
    runtime.charge(1 + affix.size() / 16);
    if (window.beyond_end) return false;
    return at_end ? window.text.ends_with(affix.text()) : window.text.starts_with(affix.text());
  };
  const Value* affix = arguments.find(0, "prefix");
  if (affix == nullptr || affix->as_list() == nullptr) return matches(text_argument(arguments, 0, "prefix"));
  const Items& items = affix->as_list()->items;
  return std::any_of(items.begin(), items.end(),
                     [&](const Value& item) { return item.as_text() != nullptr && matches(*item.as_text()); });
}
Value text_startswith(Runtime& r, const Value& self, const Arguments& a) { return has_affix(r, self, a, false); }
Value text_endswith(Runtime& r, const Value& self, const Arguments& a) { return has_affix(r, self, a, true); }

Value text_replace(Runtime& runtime, const Value& self, const Arguments& a) {
  const std::int64_t count = integer_argument(a, 2, "count", -1);
  return replaced(runtime, self_text(self), text_argument(a, 0, "old"), text_argument(a, 1, "new"),
                  count < 0 ? kAll : count);
}

Value text_join(Runtime& runtime, const Value& self, const Arguments& a) {
  const Value* items = a.find(0, "iterable");
  if (items == nullptr) throw Failure("join() needs a list");
  const Items parts = items_of(runtime, *items);
  for (const Value& part : parts) {
    if (part.as_text() == nullptr) throw Failure(fmt::format("join() needs texts, got {}", type_name(part)));
  }
  return joined_items(runtime, self_text(self), parts);
}

/// Implements find and rfind. Offsets count characters, as in Python.
Value found_part(Runtime& runtime, const Value& self, const Arguments& a, bool from_end) {
  const std::string& part = text_argument(a, 0, "sub").text();
  runtime.charge_text(part.size());
  const std::string& all = whole_text(runtime, self).text();
  const Window window = window_of(runtime, self, a);
  if (window.beyond_end) return Value(-1);
  const std::size_t at = from_end ? find_last_part(window.text, part) : find_part(window.text, part);
  return at == std::string::npos ? Value(-1) : Value(n_characters(std::string_view(all).substr(0, window.offset + at)));
}
Value text_find(Runtime& r, const Value& self, const Arguments& a) { return found_part(r, self, a, false); }
Value text_rfind(Runtime& r, const Value& self, const Arguments& a) { return found_part(r, self, a, true); }
Value text_index(Runtime& runtime, const Value& self, const Arguments& a) {
  Value found = text_find(runtime, self, a);
  if (found.as_integer() == -1) throw Failure("index(): the text is not found");
  return found;
}
Value text_rindex(Runtime& runtime, const Value& self, const Arguments& a) {
  Value found = text_rfind(runtime, self, a);
  if (found.as_integer() == -1) throw Failure("rindex(): the text is not found");
  return found;
}
Value text_count(Runtime& runtime, const Value& self, const Arguments& a) {
  const std::string& part = text_argument(a, 0, "sub").text();
  runtime.charge_text(part.size() + self_text(self).size());
  const Window window = window_of(runtime, self, a);
  if (window.beyond_end) return Value(0);
  if (part.empty()) return Value(n_characters(window.text) + 1);
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = find_part(window.text, part, at)) != std::string::npos; at += part.size()) ++n;
  return Value(n);
}

Value split_text(Runtime& runtime, const Value& self, const Arguments& a, bool from_end) {
  const Value* separator = a.find(0, "sep");
  const std::int64_t asked = integer_argument(a, 1, "maxsplit", -1), max_splits = asked < 0 ? kAll : asked;
  runtime.charge(1 + self_text(self).size() / 4);
  if (separator == nullptr || separator->is_none()) return Value::list(split_words(self_text(self), max_splits, from_end));
  return Value::list(split_at(self_text(self), text_argument(a, 0, "sep").text(), max_splits, from_end));
}
Value text_split(Runtime& runtime, const Value& self, const Arguments& a) { return split_text(runtime, self, a, false); }
Value text_rsplit(Runtime& runtime, const Value& self, const Arguments& a) { return split_text(runtime, self, a, true); }

/// Implements partition and rpartition: the text before the separator, the separator, the text after it. Without a separator
/// the whole text is the first item of partition, and the last of rpartition.
Value partitioned(Runtime& runtime, const Value& self, const Arguments& a, bool from_end) {
  const MarkedText& text = whole_text(runtime, self);
  const MarkedText& separator = text_argument(a, 0, "sep");
  if (separator.empty()) throw Failure("partition() needs a separator that is not empty");
  runtime.charge_text(text.size());
  const std::size_t at = from_end ? find_last_part(text.text(), separator.text()) : find_part(text.text(), separator.text());
  if (at != std::string::npos) {
    return Value::tuple({text.part(0, at), separator, text.part(at + separator.size(), text.size())});
  }
  const Value none = Value::text("");
  return from_end ? Value::tuple({none, none, text}) : Value::tuple({text, none, none});
}
Value text_partition(Runtime& r, const Value& self, const Arguments& a) { return partitioned(r, self, a, false); }
Value text_rpartition(Runtime& r, const Value& self, const Arguments& a) { return partitioned(r, self, a, true); }

Value text_padded(Runtime& r, const Value& self, const Arguments& a, Align align) {
  const bool has_fill = a.find(1, "fillchar") != nullptr;
  return padded(r, self_text(self), integer_argument(a, 0, "width", 0),
                has_fill ? text_argument(a, 1, "fillchar") : MarkedText(" ", Source::model), align);
}
Value text_ljust(Runtime& r, const Value& self, const Arguments& a) { return text_padded(r, self, a, Align::left); }
Value text_rjust(Runtime& r, const Value& self, const Arguments& a) { return text_padded(r, self, a, Align::right); }
Value text_center(Runtime& r, const Value& self, const Arguments& a) { return text_padded(r, self, a, Align::center); }
Value text_zfill(Runtime& r, const Value& self, const Arguments& a) {
  return zero_filled(r, self_text(self), integer_argument(a, 0, "width", 0));
}
Value text_format(Runtime& r, const Value& self, const Arguments& a) { return fill_fields(r, self_text(self), a); }

/// Implements expandtabs: tabs become blanks up to the next multiple of the tab size.
Value text_expandtabs(Runtime& runtime, const Value& self, const Arguments& a) {
  const std::int64_t size = integer_argument(a, 0, "tabsize", 8);
  const MarkedText& text = whole_text(runtime, self);
  MarkedText out;
  std::int64_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t n = read_utf8(text.text(), at).size;
    const bool is_tab = text.text()[at] == '\t', ends_line = text.text()[at] == '\n' || text.text()[at] == '\r';
    const std::int64_t n_blanks = is_tab && size > 0 ? size - column % size : 0;
    if (is_tab) {
      runtime.charge_growth(out.size(), static_cast<std::size_t>(n_blanks));
      out.append(std::string(static_cast<std::size_t>(n_blanks), ' '), text.source_at(at));
    } else {
      out.append_part(text, at, at + n);
    }
    column = ends_line ? 0 : column + (is_tab ? n_blanks : 1);
    at += n;
  }
  return Value(std::move(out));
}
/// Implements format_map: format() with the entries of one dict.
Value text_format_map(Runtime& r, const Value& self, const Arguments& a) {
  Arguments named;
  if (!a.positional.empty()) spread_dict(r, a.positional[0], named);
  return fill_fields(r, self_text(self), named);
}

Value text_splitlines(Runtime& runtime, const Value& self, const Arguments& a) {
  const Value* keep_ends = a.find(0, "keepends");
  const MarkedText& text = self_text(self);
  runtime.charge(1 + text.size() / 4);
  return Value::list(split_lines(text, keep_ends != nullptr && is_true(*keep_ends)));
}

Value without_affix(Runtime& runtime, const Value& self, const Arguments& a, bool at_end) {
  const MarkedText& text = whole_text(runtime, self);
  const std::string& affix = text_argument(a, 0, "prefix").text();
  if (at_end) return text.text().ends_with(affix) ? text.part(0, text.size() - affix.size()) : text;
  return text.text().starts_with(affix) ? text.part(affix.size(), text.size()) : text;
}
Value text_removeprefix(Runtime& r, const Value& self, const Arguments& a) { return without_affix(r, self, a, false); }
Value text_removesuffix(Runtime& r, const Value& self, const Arguments& a) { return without_affix(r, self, a, true); }

// THE TABLE of text methods.
constexpr std::array kTextMethods = {
    NamedMethod{"strip", text_strip},
    NamedMethod{"lstrip", text_lstrip},
    NamedMethod{"rstrip", text_rstrip},
    NamedMethod{"upper", text_upper},
    NamedMethod{"lower", text_lower},
    NamedMethod{"title", text_title},
    NamedMethod{"capitalize", text_capitalize},
    NamedMethod{"swapcase", text_swapcase},
    NamedMethod{"casefold", text_casefold},
    NamedMethod{"startswith", text_startswith},
    NamedMethod{"endswith", text_endswith},
    NamedMethod{"replace", text_replace},
    NamedMethod{"join", text_join},
    NamedMethod{"find", text_find},
    NamedMethod{"rfind", text_rfind},
    NamedMethod{"index", text_index},
    NamedMethod{"rindex", text_rindex},
    NamedMethod{"count", text_count},
    NamedMethod{"split", text_split},
    NamedMethod{"rsplit", text_rsplit},
    NamedMethod{"partition", text_partition},
    NamedMethod{"rpartition", text_rpartition},
    NamedMethod{"splitlines", text_splitlines},
    NamedMethod{"ljust", text_ljust},
    NamedMethod{"rjust", text_rjust},
    NamedMethod{"center", text_center},
    NamedMethod{"zfill", text_zfill},
    NamedMethod{"format", text_format},
    NamedMethod{"format_map", text_format_map},
    NamedMethod{"expandtabs", text_expandtabs},
    NamedMethod{"removeprefix", text_removeprefix},
    NamedMethod{"removesuffix", text_removesuffix},
};

}  // namespace

Method find_text_method(std::string_view name) {
  for (const NamedMethod& method : kTextMethods) {
    if (method.name == name) return method.method;
  }
  return find_text_kind(name);
}

}  // namespace lathe::engine::jinja
