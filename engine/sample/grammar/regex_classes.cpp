// SPDX-License-Identifier: Apache-2.0
#include <unicode/uset.h>

#include "engine/sample/grammar/unicode_set.h"

#include "engine/sample/grammar/regex_syntax.h"

namespace lathe::engine::grammar {

std::optional<CodePointSet> unicode_set(std::string_view pattern) {
  std::u16string wide(pattern.begin(), pattern.end());
  UErrorCode error = U_ZERO_ERROR;
  USet* found = uset_openPattern(wide.data(), static_cast<std::int32_t>(wide.size()), &error);
  if (U_FAILURE(error)) return std::nullopt;
  CodePointSet set;
  for (std::int32_t i = 0; i < uset_getItemCount(found); ++i) {
    UChar32 first = 0, last = 0;
    if (uset_getItem(found, i, &first, &last, nullptr, 0, &error) == 0)
      set.add(static_cast<char32_t>(first), static_cast<char32_t>(last));
  }
  uset_close(found);
  return set;
}

namespace {

CodePointSet positive_class(char letter, bool is_wide) {
  switch (letter) {
    case 'd': return is_wide ? *unicode_set("[\\p{Nd}]") : CodePointSet{{'0', '9'}};
    case 'w': {
      CodePointSet set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
      if (is_wide) set.add(*unicode_set("[\\p{L}\\p{M}\\p{N}\\p{Pc}]"));
      return set;
    }
    default: {
      CodePointSet set{{'\t', '\r'}, {' ', ' '}};
      if (is_wide) set.add(*unicode_set("[\\p{White_Space}\\u001C-\\u001F\\uFEFF\\u180E]"));
      return set;
    }
  }
}

}  // namespace

CodePointSet regex_class(char letter, bool is_wide) {
  const bool is_negated = letter >= 'A' && letter <= 'Z';
  const char positive = is_negated ? static_cast<char>(letter - 'A' + 'a') : letter;
  return is_negated ? positive_class(positive, !is_wide).complement() : positive_class(positive, is_wide);
}

}  // namespace lathe::engine::grammar
