// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/builtins/text_splits.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "engine/base/utf8.h"
#include "engine/text/template/builtins/text_characters.h"
#include "engine/text/template/builtins/text_search.h"
#include "engine/text/template/runtime/failure.h"

namespace lathe::engine::jinja {
namespace {

/// Splits a text into words, which are separated by runs of white space.
Items words(const MarkedText& text, std::int64_t max_splits) {
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
Items last_words(const MarkedText& text, std::int64_t max_splits) {
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

}  // namespace

Items split_words(const MarkedText& text, std::int64_t max_splits, bool from_end) {
  return from_end ? last_words(text, max_splits) : words(text, max_splits);
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

Items split_lines(const MarkedText& text, bool keep_ends) {
  Items out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.text().find_first_of("\r\n", begin), text.size());
    const std::size_t next = std::min(text.size(), end + (text.text().compare(end, 2, "\r\n") == 0 ? 2 : 1));
    out.emplace_back(text.part(begin, keep_ends ? next : end));
    begin = next;
  }
  return out;
}

}  // namespace lathe::engine::jinja
