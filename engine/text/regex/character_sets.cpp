// SPDX-License-Identifier: Apache-2.0
#include "engine/text/regex/character_sets.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <span>

namespace lathe::engine {
namespace {

struct NamedSet {
  std::string_view name, items;
};

// THE TABLE of names in POSIX brackets.
constexpr std::array kPosixSets = {
    NamedSet{"alnum", "\\p{Alphabetic}\\p{Nd}"},
    NamedSet{"alpha", "\\p{Alphabetic}"},
    NamedSet{"ascii", "\\x{0}-\\x{7f}"},
    NamedSet{"blank", "\\p{Zs}\\t"},
    NamedSet{"cntrl", "\\p{Cc}"},
    NamedSet{"digit", "\\p{Nd}"},
    NamedSet{"lower", "\\p{Lowercase}"},
    NamedSet{"punct", "\\p{P}\\p{S}"},
    NamedSet{"space", kSpaces},
    NamedSet{"upper", "\\p{Uppercase}"},
    NamedSet{"word", kWordCharacters},
    NamedSet{"xdigit", kHexDigits},
};

// THE TABLE of properties that PCRE2 does not know or takes for another set.
constexpr std::array kProperties = {
    NamedSet{"punct", "\\p{P}"},
    NamedSet{"letter", "\\p{L}"},
    NamedSet{"mark", "\\p{M}"},
    NamedSet{"number", "\\p{N}"},
    NamedSet{"punctuation", "\\p{P}"},
    NamedSet{"symbol", "\\p{S}"},
    NamedSet{"separator", "\\p{Z}"},
    NamedSet{"other", "\\p{C}"},
    NamedSet{"uppercaseletter", "\\p{Lu}"},
    NamedSet{"lowercaseletter", "\\p{Ll}"},
    NamedSet{"titlecaseletter", "\\p{Lt}"},
    NamedSet{"modifierletter", "\\p{Lm}"},
    NamedSet{"otherletter", "\\p{Lo}"},
    NamedSet{"nonspacingmark", "\\p{Mn}"},
    NamedSet{"spacingmark", "\\p{Mc}"},
    NamedSet{"enclosingmark", "\\p{Me}"},
    NamedSet{"decimalnumber", "\\p{Nd}"},
    NamedSet{"letternumber", "\\p{Nl}"},
    NamedSet{"othernumber", "\\p{No}"},
    NamedSet{"connectorpunctuation", "\\p{Pc}"},
    NamedSet{"dashpunctuation", "\\p{Pd}"},
    NamedSet{"openpunctuation", "\\p{Ps}"},
    NamedSet{"closepunctuation", "\\p{Pe}"},
    NamedSet{"initialpunctuation", "\\p{Pi}"},
    NamedSet{"finalpunctuation", "\\p{Pf}"},
    NamedSet{"otherpunctuation", "\\p{Po}"},
    NamedSet{"mathsymbol", "\\p{Sm}"},
    NamedSet{"currencysymbol", "\\p{Sc}"},
    NamedSet{"modifiersymbol", "\\p{Sk}"},
    NamedSet{"othersymbol", "\\p{So}"},
    NamedSet{"spaceseparator", "\\p{Zs}"},
    NamedSet{"lineseparator", "\\p{Zl}"},
    NamedSet{"paragraphseparator", "\\p{Zp}"},
    NamedSet{"control", "\\p{Cc}"},
    NamedSet{"format", "\\p{Cf}"},
    NamedSet{"surrogate", "\\p{Cs}"},
    NamedSet{"privateuse", "\\p{Co}"},
    NamedSet{"unassigned", "\\p{Cn}"},
};

std::optional<std::string> find(std::span<const NamedSet> sets, std::string_view name) {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const NamedSet& set) { return set.name == name; });
  if (found == sets.end()) return std::nullopt;
  return std::string(found->items);
}

std::string plain_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != ' ' && c != '-') out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return out;
}

bool compiles(const std::string& pattern) {
  int error = 0;
  std::size_t offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                                   &error, &offset, nullptr);
  pcre2_code_free(code);
  return code != nullptr;
}

}  // namespace

std::optional<std::string> posix_set(std::string_view name) { return find(kPosixSets, name); }

std::optional<std::string> property_set(std::string_view name) {
  const std::string plain = plain_name(name);
  if (auto set = find(kProperties, plain)) return set;
  if (auto set = find(kPosixSets, plain)) return set;
  const bool is_name = std::all_of(plain.begin(), plain.end(), [](char c) { return c >= '0' && c <= 'z'; });
  if (!is_name || plain.empty()) return std::nullopt;
  for (const char* prefix : {"sc:", ""}) {
    std::string escape = fmt::format("\\p{{{}{}}}", prefix, plain);
    if (compiles(escape)) return escape;
  }
  return std::nullopt;
}

}  // namespace lathe::engine
