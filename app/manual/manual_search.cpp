// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "app/api/manual.h"

namespace lathe::app {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c); });
  return out;
}

std::vector<std::string> text_of(std::string_view text) {
  std::vector<std::string> words;
  const std::string all = lower(text);
  for (std::size_t start = all.find_first_not_of(' '); start != all.npos;) {
    const std::size_t end = std::min(all.find(' ', start), all.size());
    words.push_back(all.substr(start, end - start));
    start = all.find_first_not_of(' ', end);
  }
  return words;
}

/// Returns one line of Markdown as a reader sees it.
std::string without_marks(std::string_view line) {
  const std::size_t start = line.find_first_not_of("#-|> ");
  std::string out;
  if (start == line.npos) return out;
  for (const char c : line.substr(start)) {
    if (c == '|') out += "·";
    else if (c != '`' && c != '*') out += c;
  }
  return out;
}

/// Returns the line of `section` that contains `word`.
std::string excerpt_of(std::string_view section, const std::string& word) {
  const std::size_t at = lower(section).find(word);
  if (at == std::string::npos) return {};
  const std::size_t before = section.rfind('\n', at), start = before == section.npos ? 0 : before + 1;
  return without_marks(section.substr(start, section.find('\n', at) - start));
}

}  // namespace

std::vector<ManualHit> search_manual(std::string_view text) {
  const std::vector<std::string> words = text_of(text);
  std::vector<ManualHit> in_headings, in_text;
  if (words.empty()) return in_text;
  for (const ManualPage& page : manual_pages()) {
    for (ManualSection& section : sections_of(page)) {
      const std::string all = lower(section.text), heading = lower(section.heading);
      const auto is_in = [](const std::string& where) {
        return [&](const std::string& word) { return where.find(word) != where.npos; };
      };
      if (!std::all_of(words.begin(), words.end(), is_in(all))) continue;
      const bool leads = std::any_of(words.begin(), words.end(), is_in(heading));
      std::string excerpt = excerpt_of(section.text, words.front());
      (leads ? in_headings : in_text).push_back({std::move(section), std::move(excerpt)});
    }
  }
  std::move(in_text.begin(), in_text.end(), std::back_inserter(in_headings));
  return in_headings;
}

}  // namespace lathe::app
