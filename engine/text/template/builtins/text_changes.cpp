// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_changes.h"

#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/text_characters.h"
#include "engine/text/template/builtins/text_search.h"
#include "engine/text/template/runtime/to_text.h"

namespace lathe::engine::jinja {
namespace {

bool ends_word(char32_t code) {
  return is_python_space(code) ||
         (code < 0x80 && std::string_view("-({[<").find(static_cast<char>(code)) != std::string_view::npos);
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

}  // namespace lathe::engine::jinja
