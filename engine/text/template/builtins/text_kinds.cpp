// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_kinds.h"

#include <unicode/uchar.h>

#include <array>
#include <utility>

#include "engine/base/utf8.h"

namespace lathe::engine::jinja {
namespace {

/// Calls `see` for each character until it returns false; returns whether it never did.
template <class See>
bool each_character(Runtime& runtime, std::string_view text, See see) {
  runtime.charge_text(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    if (!see(static_cast<UChar32>(step.code))) return false;
    at += step.size;
  }
  return true;
}

/// Returns true if the text is not empty and all its characters pass.
template <class Passes>
Value all_pass(Runtime& runtime, const Value& self, Passes passes) {
  const std::string_view text = self.as_text()->text();
  return Value(each_character(runtime, text, passes) && !text.empty());
}

bool is_decimal(UChar32 c) { return u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) == U_NT_DECIMAL; }
bool is_digit(UChar32 c) { return is_decimal(c) || u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) == U_NT_DIGIT; }
bool is_numeric(UChar32 c) { return u_getIntPropertyValue(c, UCHAR_NUMERIC_TYPE) != U_NT_NONE; }
bool is_space(UChar32 c) { return u_isUWhiteSpace(c) != 0 || (c >= 0x1C && c <= 0x1F); }
bool is_printable(UChar32 c) {
  constexpr std::uint32_t kHidden = U_GC_C_MASK | U_GC_Z_MASK;
  return c == ' ' || (U_GET_GC_MASK(c) & kHidden) == 0;
}
bool is_lower(UChar32 c) { return u_isULowercase(c) != 0; }
bool is_upper(UChar32 c) { return u_isUUppercase(c) != 0; }
bool is_title(UChar32 c) { return u_charType(c) == U_TITLECASE_LETTER; }

bool is_cased_as(Runtime& runtime, std::string_view text, bool (*wanted)(UChar32), bool (*other)(UChar32)) {
  bool any = false;
  const bool all = each_character(runtime, text, [&](UChar32 c) {
    any = any || wanted(c);
    return !other(c) && !is_title(c);
  });
  return any && all;
}

Value text_isdecimal(Runtime& r, const Value& self, const Arguments&) { return all_pass(r, self, is_decimal); }
Value text_isdigit(Runtime& r, const Value& self, const Arguments&) { return all_pass(r, self, is_digit); }
Value text_isnumeric(Runtime& r, const Value& self, const Arguments&) { return all_pass(r, self, is_numeric); }
Value text_isspace(Runtime& r, const Value& self, const Arguments&) { return all_pass(r, self, is_space); }
Value text_isalpha(Runtime& r, const Value& self, const Arguments&) {
  return all_pass(r, self, [](UChar32 c) { return u_isalpha(c) != 0; });
}
Value text_isalnum(Runtime& r, const Value& self, const Arguments&) {
  return all_pass(r, self, [](UChar32 c) { return u_isalpha(c) != 0 || is_numeric(c); });
}
Value text_isprintable(Runtime& r, const Value& self, const Arguments&) {
  return Value(each_character(r, self.as_text()->text(), is_printable));
}
Value text_isascii(Runtime& r, const Value& self, const Arguments&) {
  return Value(each_character(r, self.as_text()->text(), [](UChar32 c) { return c < 0x80; }));
}
Value text_isidentifier(Runtime& r, const Value& self, const Arguments&) {
  bool first = true;
  return all_pass(r, self, [&first](UChar32 c) {
    const bool starts = c == '_' || u_hasBinaryProperty(c, UCHAR_XID_START) != 0;
    return std::exchange(first, false) ? starts : starts || u_hasBinaryProperty(c, UCHAR_XID_CONTINUE) != 0;
  });
}
Value text_isupper(Runtime& r, const Value& self, const Arguments&) { return Value(is_all_upper(r, *self.as_text())); }
Value text_islower(Runtime& r, const Value& self, const Arguments&) { return Value(is_all_lower(r, *self.as_text())); }
/// Implements str.istitle(): upper case at the beginning of a word and nowhere else.
Value text_istitle(Runtime& r, const Value& self, const Arguments&) {
  bool in_word = false, any = false;
  const bool fits = each_character(r, self.as_text()->text(), [&](UChar32 c) {
    const bool begins = is_upper(c) || is_title(c), goes_on = is_lower(c);
    if ((begins && in_word) || (goes_on && !in_word)) return false;
    in_word = begins || goes_on;
    any = any || in_word;
    return true;
  });
  return Value(fits && any);
}

// THE TABLE of methods that test a text.
constexpr std::array kTextTests = {
    NamedMethod{"isdecimal", text_isdecimal},       NamedMethod{"isdigit", text_isdigit},
    NamedMethod{"isnumeric", text_isnumeric},       NamedMethod{"isspace", text_isspace},
    NamedMethod{"isalpha", text_isalpha},           NamedMethod{"isalnum", text_isalnum},
    NamedMethod{"isprintable", text_isprintable},   NamedMethod{"isascii", text_isascii},
    NamedMethod{"isidentifier", text_isidentifier}, NamedMethod{"isupper", text_isupper},
    NamedMethod{"islower", text_islower},           NamedMethod{"istitle", text_istitle},
};

}  // namespace

bool is_decimal_digit(char32_t code) { return u_charType(static_cast<UChar32>(code)) == U_DECIMAL_DIGIT_NUMBER; }
bool is_word_character(char32_t code) {
  const auto c = static_cast<UChar32>(code);
  return code == '_' || u_isalpha(c) != 0 || is_numeric(c);
}

bool is_all_upper(Runtime& runtime, const MarkedText& text) { return is_cased_as(runtime, text.text(), is_upper, is_lower); }
bool is_all_lower(Runtime& runtime, const MarkedText& text) { return is_cased_as(runtime, text.text(), is_lower, is_upper); }

Method find_text_kind(std::string_view name) {
  for (const NamedMethod& method : kTextTests) {
    if (method.name == name) return method.method;
  }
  return nullptr;
}

}  // namespace lathe::engine::jinja
