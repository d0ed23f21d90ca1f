// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_methods.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/format_fields.h"
#include "engine/text/template/builtins/operators.h"
#include "engine/text/template/builtins/padded_text.h"
#include "engine/text/template/builtins/spread_arguments.h"
#include "engine/text/template/builtins/text_kinds.h"
#include "engine/text/template/builtins/text_search.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

bool is_python_space(char32_t code) {
  return u_isUWhiteSpace(static_cast<UChar32>(code)) != 0 || (code >= 0x1C && code <= 0x1F);
}

bool ends_word(char32_t code) {
  return is_python_space(code) ||
         (code < 0x80 && std::string_view("-({[<").find(static_cast<char>(code)) != std::string_view::npos);
}

/// Returns the index at which the character that ends at `end` begins. Requires: end > 0.
std::size_t begin_of_last(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

const MarkedText& self_text(const Value& self) { return *self.as_text(); }

/// Returns the text and charges for it: for a method that reads the whole text.
const MarkedText& whole_text(Runtime& runtime, const Value& self) {
  runtime.charge_text(self_text(self).size());
  return self_text(self);
}

}  // namespace

MarkedText stripped(Runtime& runtime, const MarkedText& text, const Value* characters, Side side) {
  const MarkedText* set = characters != nullptr ? characters->as_text() : nullptr;
  if (characters != nullptr && set == nullptr && !characters->is_none())
    throw Failure(fmt::format("the characters to strip must be a text, got {}", type_name(*characters)));
  const auto drops = [&](std::string_view character) {
    runtime.charge(1 + (set != nullptr ? set->size() / 16 : 0));
    if (set != nullptr) return set->text().find(character) != std::string::npos;
    return is_python_space(read_utf8(character, 0).code);
  };
  const std::string_view all = text.text();
  std::size_t begin = 0, end = all.size();
  while (side != Side::right && begin < end) {
    const std::size_t size = read_utf8(all, begin).size;
    if (!drops(all.substr(begin, size))) break;
    begin += size;
  }
  while (side != Side::left && end > begin) {
    const std::size_t last = begin_of_last(all, end);
    if (!drops(all.substr(last, end - last))) break;
    end = last;
  }
  runtime.charge_text(end - begin);
  return text.part(begin, end);
}

MarkedText replaced(Runtime& runtime, const MarkedText& text, const MarkedText& from, const MarkedText& to,
                    std::int64_t count) {
  MarkedText out;
  std::size_t done = 0, at = 0;
  const std::string& all = text.text();
  runtime.charge((all.size() + from.size()) / 16);
  for (std::int64_t n = 0; n < count; ++n) {
    if (from.empty()) {  // an empty text is found between all characters, as in Python
      if (n > 0 && at >= all.size()) break;
      at = n == 0 ? 0 : at + read_utf8(all, at).size;
    } else {
      at = find_part(all, from.text(), at);
      if (at == all.npos) break;
    }
    runtime.charge_growth(out.size(), at - done + to.size());
    out.append_part(text, done, at);
    out.append(to);
    done = at + from.size();
    if (!from.empty()) at = done;
  }
  runtime.charge_growth(out.size(), all.size() - done);
  out.append_part(text, done, all.size());
  return out;
}

MarkedText with_case(Runtime& runtime, const MarkedText& text, LetterCase letters) {
  runtime.charge(1 + text.size() / 4);  // a table is looked up for each character
  MarkedText out;
  std::size_t begin = 0;
  bool in_word = false, first = true;
  for (const MarkedText::Run& run : text.runs()) {
    const std::string_view part = std::string_view(text.text()).substr(begin, run.end - begin);
    begin = run.end;
    std::string mapped;
    if (letters == LetterCase::upper || letters == LetterCase::lower || letters == LetterCase::folded) {
      icu::UnicodeString unicode = icu::UnicodeString::fromUTF8(part);
      if (letters == LetterCase::folded) {
        unicode.foldCase();
      } else if (letters == LetterCase::upper) {
        unicode.toUpper(icu::Locale::getRoot());
      } else {
        unicode.toLower(icu::Locale::getRoot());
      }
      unicode.toUTF8String(mapped);
    } else {
      for (std::size_t at = 0; at < part.size();) {
        const Utf8Step step = read_utf8(part, at);
        const auto code = static_cast<UChar32>(step.code);
        const bool starts = letters == LetterCase::swapped       ? u_islower(code) != 0
                            : letters == LetterCase::capitalized ? first
                                                                 : !in_word;
        append_utf8(mapped, static_cast<char32_t>(starts ? u_totitle(code) : u_tolower(code)));
        in_word = letters == LetterCase::title ? u_isalpha(code) != 0 : !ends_word(step.code);
        first = false;
        at += step.size;
      }
    }
    runtime.charge_growth(out.size(), mapped.size());
    out.append(mapped, run.source);
  }
  return out;
}

MarkedText joined_items(Runtime& runtime, const MarkedText& separator, const Items& items) {
  MarkedText out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const MarkedText item = to_text(runtime, items[i]);
    runtime.charge_growth(out.size(), separator.size() + item.size());
    if (i > 0) out.append(separator);
    out.append(item);
  }
  return out;
}

namespace {

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

/// Splits a text into words, which are separated by runs of white space.
Items split_blanks(const MarkedText& text, std::int64_t max_splits) {
  Items out;
  const std::string_view all = text.text();
  std::size_t at = 0;
  const auto skip = [&](bool blanks) {
    while (at < all.size() && is_python_space(read_utf8(all, at).code) == blanks) at += read_utf8(all, at).size;
  };
  for (skip(true); at < all.size(); skip(true)) {
    const std::size_t begin = at;
    if (static_cast<std::int64_t>(out.size()) == max_splits) {
      out.emplace_back(text.part(begin, all.size()));
      break;
    }
    skip(false);
    out.emplace_back(text.part(begin, at));
  }
  return out;
}

/// Splits a text into words from its end: the first item keeps the rest.
Items split_last_blanks(const MarkedText& text, std::int64_t max_splits) {
  Items out;
  const std::string_view all = text.text();
  std::size_t end = all.size();
  const auto back_over = [&](std::size_t at, bool blanks) {
    while (at > 0 && is_python_space(read_utf8(all, begin_of_last(all, at)).code) == blanks) at = begin_of_last(all, at);
    return at;
  };
  for (end = back_over(end, true); end > 0; end = back_over(end, true)) {
    const std::size_t begin = static_cast<std::int64_t>(out.size()) == max_splits ? 0 : back_over(end, false);
    out.emplace_back(text.part(begin, end));
    end = begin;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

/// Returns the indices of the separators at which a text is split, in order.
std::vector<std::size_t> cuts_at(std::string_view all, std::string_view separator, std::int64_t max_splits) {
  std::vector<std::size_t> cuts;
  for (std::size_t at = 0; static_cast<std::int64_t>(cuts.size()) < max_splits; at += separator.size()) {
    at = find_part(all, separator, at);
    if (at == all.npos) break;
    cuts.push_back(at);
  }
  return cuts;
}

std::vector<std::size_t> last_cuts_at(std::string_view all, std::string_view separator, std::int64_t max_splits) {
  const std::string back(all.rbegin(), all.rend()), back_separator(separator.rbegin(), separator.rend());
  std::vector<std::size_t> cuts = cuts_at(back, back_separator, max_splits);
  for (std::size_t& cut : cuts) cut = all.size() - cut - separator.size();
  std::reverse(cuts.begin(), cuts.end());
  return cuts;
}

Items split_at(const MarkedText& text, const std::string& separator, std::int64_t max_splits, bool from_end) {
  if (separator.empty()) throw Failure("split() needs a separator that is not empty");
  const std::string& all = text.text();
  const std::vector<std::size_t> cuts =
      from_end ? last_cuts_at(all, separator, max_splits) : cuts_at(all, separator, max_splits);
  Items out;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    out.emplace_back(text.part(begin, cut));
    begin = cut + separator.size();
  }
  out.emplace_back(text.part(begin, all.size()));
  return out;
}

Value split_text(Runtime& runtime, const Value& self, const Arguments& a, bool from_end) {
  const Value* separator = a.find(0, "sep");
  const std::int64_t asked = integer_argument(a, 1, "maxsplit", -1), max_splits = asked < 0 ? kAll : asked;
  runtime.charge(1 + self_text(self).size() / 4);
  if (separator == nullptr || separator->is_none())
    return Value::list(from_end ? split_last_blanks(self_text(self), max_splits)
                                : split_blanks(self_text(self), max_splits));
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
  Items out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.text().find_first_of("\r\n", begin), text.size());
    const std::size_t next = std::min(text.size(), end + (text.text().compare(end, 2, "\r\n") == 0 ? 2 : 1));
    out.emplace_back(text.part(begin, keep_ends != nullptr && is_true(*keep_ends) ? next : end));
    begin = next;
  }
  return Value::list(std::move(out));
}

Value without_affix(Runtime& runtime, const Value& self, const Arguments& a, bool at_end) {
  const MarkedText& text = whole_text(runtime, self);
  const std::string& affix = text_argument(a, 0, "prefix").text();
  if (at_end) return text.text().ends_with(affix) ? text.part(0, text.size() - affix.size()) : text;
  return text.text().starts_with(affix) ? text.part(affix.size(), text.size()) : text;
}
Value text_removeprefix(Runtime& r, const Value& self, const Arguments& a) { return without_affix(r, self, a, false); }
Value text_removesuffix(Runtime& r, const Value& self, const Arguments& a) { return without_affix(r, self, a, true); }

struct NamedMethod {
  std::string_view name;
  Method method;
};

// THE TABLE of text methods.
constexpr std::array kMethods = {
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
  for (const NamedMethod& method : kMethods) {
    if (method.name == name) return method.method;
  }
  return find_text_kind(name);
}

}  // namespace lathe::engine::jinja
