// SPDX-License-Identifier: Apache-2.0
#include "app/api/manual.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "app/manual/embedded_pages.h"

namespace lathe::app {
std::string option_name(std::string_view flag) {
  std::string name(flag.substr(2));
  std::replace(name.begin(), name.end(), '-', '_');
  return name.starts_with("no_") ? name.substr(3) : name;
}

namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \r\n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \r\n") - first + 1);
}

/// Returns the line at `start`, without its line end.
std::string_view line_at(std::string_view text, std::size_t start) {
  return text.substr(start, text.find('\n', start) - start);
}

bool is_fence(std::string_view line) { return trimmed(line).starts_with("```"); }

/// Returns 1 to 6 for a heading, 0 for any other line.
std::size_t heading_level(std::string_view line) {
  const std::size_t level = line.find_first_not_of('#');
  return level >= 1 && level <= 6 && level != line.npos && line[level] == ' ' ? level : 0;
}

/// Calls `visit(line, start, in_code)` for each line.
template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  bool in_code = false;
  for (std::size_t start = 0; start < text.size();) {
    const std::string_view line = line_at(text, start);
    const bool fence = is_fence(line);
    visit(line, start, in_code || fence);
    if (fence) in_code = !in_code;
    start += line.size() + 1;
  }
}

std::string_view heading_text(std::string_view line) { return trimmed(line.substr(line.find_first_not_of('#'))); }

/// Returns the names of all flags in `head`, the part of a definition before its colon.
std::vector<std::string> option_names(std::string_view head) {
  std::vector<std::string> names;
  for (std::size_t at = head.find("--"); at != head.npos; at = head.find("--", at)) {
    const std::size_t end = std::min(head.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-", at), head.size());
    std::string name = option_name(head.substr(at, end - at));
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    at = end;
  }
  return names;
}

std::vector<ManualEntry> find_entries() {
  std::vector<ManualEntry> entries;
  for (const ManualPage& page : manual_pages()) {
    std::string heading;
    for_each_line(page.text, [&](std::string_view line, std::size_t, bool in_code) {
      if (in_code) return;
      if (heading_level(line) > 0) heading = heading_text(line);
      for (std::string& name : defined_names(line)) entries.push_back({&page, std::move(name), heading});
    });
  }
  return entries;
}

}  // namespace

std::string_view ManualPage::title() const { return heading_text(line_at(text, 0)); }

std::string ManualPage::task() const {
  const std::size_t start = text.find_first_not_of('\n', line_at(text, 0).size());
  if (start == text.npos) return {};
  std::string sentence(text.substr(start, text.find("\n\n", start) - start));
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  const std::size_t stop = sentence.find(". ");
  return std::string(trimmed(stop == sentence.npos ? sentence : sentence.substr(0, stop + 1)));
}

std::span<const ManualPage> manual_pages() { return kEmbeddedPages; }

const ManualPage* find_manual_page(std::string_view name) {
  for (const ManualPage& page : manual_pages()) {
    if (page.name == name) return &page;
  }
  return nullptr;
}

std::string slug_of(std::string_view heading) {
  std::string slug;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '_' || c == '-' || byte >= 0x80) slug += static_cast<char>(std::tolower(byte));
    else if (c == ' ') slug += '-';
  }
  return slug;
}

std::vector<ManualSection> sections_of(const ManualPage& page) {
  std::vector<std::size_t> starts;
  for_each_line(page.text, [&](std::string_view line, std::size_t start, bool in_code) {
    if (!in_code && heading_level(line) > 0) starts.push_back(start);
  });
  std::vector<ManualSection> sections;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : page.text.size();
    const std::string_view heading = heading_text(line_at(page.text, starts[i]));
    sections.push_back({&page, heading, page.text.substr(starts[i], end - starts[i]), slug_of(heading)});
  }
  return sections;
}

std::vector<std::string> defined_names(std::string_view line) {
  constexpr std::array<std::string_view, 3> kMethods = {"GET ", "POST ", "DELETE "};
  if (heading_level(line) > 0) line = heading_text(line);
  if (line.starts_with("- ")) line.remove_prefix(2);
  if (line.starts_with('`')) line.remove_prefix(1);
  const bool is_route = std::any_of(kMethods.begin(), kMethods.end(), [&](std::string_view method) {
    return line.starts_with(method) && line.substr(method.size()).starts_with('/');
  });
  if (is_route) return {std::string(line.substr(0, line.find('`')))};
  const std::size_t colon = line.find(": ");
  if (!line.starts_with("--") || colon == line.npos) return {};
  return option_names(line.substr(0, colon));
}

const std::vector<ManualEntry>& manual_entries() {
  static const std::vector<ManualEntry> entries = find_entries();
  return entries;
}

const ManualEntry* find_manual_entry(std::string_view name, std::string_view prefer) {
  const ManualEntry* found = nullptr;
  for (const ManualEntry& entry : manual_entries()) {
    if (entry.name != name) continue;
    if (entry.page->name == prefer) return &entry;
    if (found == nullptr) found = &entry;
  }
  return found;
}

}  // namespace lathe::app
