// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/text_methods.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>
#include <array>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/template/format_fields.h"
#include "engine/text/template/operators.h"
#include "engine/text/template/padded_text.h"
#include "engine/text/template/text_search.h"
#include "engine/text/template/to_text.h"

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

/// Where the character that ends at `end` begins. Requires: end > 0.
std::size_t begin_of_last(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

const MarkedText& self_text(const Value& self) { return *self.as_text(); }

/// The same for a method that goes through the whole text.
const MarkedText& whole_text(Runtime& runtime, const Value& self) {
  runtime.charge_text(self_text(self).size());
  return self_text(self);
}

}  // namespace

MarkedText stripped(Runtime& runtime, const MarkedText& text, const Value* characters, Side side) {
  const MarkedText* set = characters != nullptr ? characters->as_text() : nullptr;
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
    if (from.empty()) {  // between all characters, as Python does
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
  runtime.charge(1 + text.size() / 4);  // tables are looked up for each character
  MarkedText out;
  std::size_t begin = 0;
  bool in_word = false, first = true;
  for (const MarkedText::Run& run : text.runs()) {
    const std::string_view part = std::string_view(text.text()).substr(begin, run.end - begin);
    begin = run.end;
    std::string mapped;
    if (letters == LetterCase::upper || letters == LetterCase::lower) {
      icu::UnicodeString unicode = icu::UnicodeString::fromUTF8(part);
      (letters == LetterCase::upper ? unicode.toUpper(icu::Locale::getRoot()) : unicode.toLower(icu::Locale::getRoot()))
          .toUTF8String(mapped);
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

Value format_text(Runtime& runtime, const MarkedText& format, const Value& values) {
  const ListObject* list = values.as_list();
  const Items items = list != nullptr && list->is_tuple ? list->items : Items{values};
  MarkedText out;
  std::size_t next = 0, begin = 0;
  const std::string& text = format.text();
  for (std::size_t at = 0; (at = text.find('%', at)) != text.npos; begin = at) {
    runtime.charge_growth(out.size(), at - begin + 1);
    out.append_part(format, begin, at);
    const char kind = at + 1 < text.size() ? text[at + 1] : '\0';
    if (kind == '%') {
      out.append("%", format.source_at(at));
    } else if (kind != 's' && kind != 'd' && kind != 'i') {
      throw Failure("only %s, %d and %% are supported in a format");
    } else if (next == items.size()) {
      throw Failure("the format needs more values");
    } else {
      const MarkedText item = to_text(runtime, items[next++]);
      runtime.charge_growth(out.size(), item.size());
      out.append(item);
    }
    at += 2;
  }
  runtime.charge_growth(out.size(), text.size() - begin);
  out.append_part(format, begin, text.size());
  return Value(std::move(out));
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
Value text_capitalize(Runtime& r, const Value& self, const Arguments&) {
  return with_case(r, self_text(self), LetterCase::capitalized);
}

/// startswith and endswith take one text or a tuple of them.
bool has_affix(Runtime& runtime, const Value& self, const Arguments& arguments, bool at_end) {
  const std::string& text = self_text(self).text();
  const auto matches = [&](const MarkedText& affix) {
    runtime.charge(1 + affix.size() / 16);
    return at_end ? text.ends_with(affix.text()) : text.starts_with(affix.text());
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
  return joined_items(runtime, self_text(self), items_of(runtime, *items));
}

/// Offsets count characters, as Python's do.
Value found_at(const Value& self, std::size_t offset) {
  if (offset == std::string::npos) return Value(-1);
  return Value(n_characters(std::string_view(self_text(self).text()).substr(0, offset)));
}
Value text_find(Runtime& runtime, const Value& self, const Arguments& a) {
  const MarkedText& part = text_argument(a, 0, "sub");
  runtime.charge_text(part.size());
  return found_at(self, find_part(whole_text(runtime, self).text(), part.text()));
}
Value text_rfind(Runtime& runtime, const Value& self, const Arguments& a) {
  const MarkedText& part = text_argument(a, 0, "sub");
  runtime.charge_text(part.size());
  return found_at(self, find_last_part(whole_text(runtime, self).text(), part.text()));
}
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
  const std::string &all = whole_text(runtime, self).text(), &part = text_argument(a, 0, "sub").text();
  runtime.charge_text(part.size());
  if (part.empty()) return Value(*length_of(self) + 1);
  std::int64_t n = 0;
  for (std::size_t at = 0; (at = find_part(all, part, at)) != all.npos; at += part.size()) ++n;
  return Value(n);
}

/// Words between stretches of white space.
Items split_blanks(Runtime& runtime, const MarkedText& text, std::int64_t max_splits) {
  Items out;
  const std::string_view all = text.text();
  std::size_t at = 0;
  const auto skip = [&](bool blanks) {
    while (at < all.size() && is_python_space(read_utf8(all, at).code) == blanks) at += read_utf8(all, at).size;
  };
  for (skip(true); at < all.size(); skip(true)) {
    const std::size_t begin = at;
    if (static_cast<std::int64_t>(out.size()) == max_splits) {
      out.emplace_back(stripped(runtime, text.part(begin, all.size()), nullptr, Side::right));
      break;
    }
    skip(false);
    out.emplace_back(text.part(begin, at));
  }
  return out;
}

/// Where the separators begin that a text is split at, in order.
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
    return Value::list(split_blanks(runtime, self_text(self), from_end ? kAll : max_splits));
  return Value::list(split_at(self_text(self), text_argument(a, 0, "sep").text(), max_splits, from_end));
}
Value text_split(Runtime& runtime, const Value& self, const Arguments& a) { return split_text(runtime, self, a, false); }
Value text_rsplit(Runtime& runtime, const Value& self, const Arguments& a) { return split_text(runtime, self, a, true); }

/// Before, the separator, behind; where there is none the whole text stands at the end that is searched last.
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

Value text_splitlines(Runtime& runtime, const Value& self, const Arguments&) {
  const MarkedText& text = self_text(self);
  runtime.charge(1 + text.size() / 4);
  Items out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.text().find_first_of("\r\n", begin), text.size());
    out.emplace_back(text.part(begin, end));
    begin = end + (text.text().compare(end, 2, "\r\n") == 0 ? 2 : 1);
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

/// True for a text that is not empty and whose characters all pass.
template <class Test>
Value all_characters(Runtime& runtime, const Value& self, Test test) {
  const std::string_view text = whole_text(runtime, self).text();
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!test(static_cast<UChar32>(step.code))) return Value(false);
    at += step.size;
  }
  return Value(!text.empty());
}
Value text_isdigit(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return u_isdigit(c) != 0; });
}
Value text_isalpha(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return u_isalpha(c) != 0; });
}
Value text_isalnum(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return u_isalnum(c) != 0; });
}
Value text_isspace(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return is_python_space(static_cast<char32_t>(c)); });
}
Value text_isupper(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return u_islower(c) == 0; });
}
Value text_islower(Runtime& r, const Value& self, const Arguments&) {
  return all_characters(r, self, [](UChar32 c) { return u_isupper(c) == 0; });
}

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
    NamedMethod{"removeprefix", text_removeprefix},
    NamedMethod{"removesuffix", text_removesuffix},
    NamedMethod{"isdigit", text_isdigit},
    NamedMethod{"isalpha", text_isalpha},
    NamedMethod{"isalnum", text_isalnum},
    NamedMethod{"isspace", text_isspace},
    NamedMethod{"isupper", text_isupper},
    NamedMethod{"islower", text_islower},
};

}  // namespace

Method find_text_method(std::string_view name) {
  for (const NamedMethod& method : kMethods) {
    if (method.name == name) return method.method;
  }
  return nullptr;
}

}  // namespace lathe::engine::jinja
