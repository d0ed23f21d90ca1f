// SPDX-License-Identifier: Apache-2.0
#include "tests/support/source_tree.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string_view>

#include "tests/support/shared_data.h"

namespace lathe::tests {
namespace {

constexpr std::array<std::string_view, 5> kExtensions = {".h", ".cpp", ".inc", ".cu", ".cuh"};

std::vector<Include> includes_of(const std::string& text) {
  static const std::regex pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::smatch match;
    if (std::regex_search(line, match, pattern)) includes.push_back({match[2], match[1] == "\"", number});
  }
  return includes;
}

/// Past a raw string literal that starts at `i` (at its R"); npos-safe.
std::size_t end_of_raw_string(const std::string& text, std::size_t i) {
  const std::size_t open = text.find('(', i);
  if (open == std::string::npos) return text.size();
  const std::string close = ")" + text.substr(i + 2, open - i - 2) + "\"";
  const std::size_t end = text.find(close, open);
  return end == std::string::npos ? text.size() : end + close.size();
}

std::size_t end_of_literal(const std::string& text, std::size_t i) {
  const char quote = text[i];
  for (++i; i < text.size() && text[i] != quote && text[i] != '\n'; ++i) {
    if (text[i] == '\\') ++i;
  }
  return std::min(i + 1, text.size());
}

bool is_digit_separator(const std::string& text, std::size_t i) {
  return text[i] == '\'' && i > 0 && std::isxdigit(static_cast<unsigned char>(text[i - 1])) != 0 && i + 1 < text.size() &&
         std::isxdigit(static_cast<unsigned char>(text[i + 1])) != 0;
}

std::size_t end_of_skipped(const std::string& text, std::size_t i) {
  if (text.compare(i, 2, "//") == 0) return std::min(text.find('\n', i), text.size());
  if (text.compare(i, 2, "/*") == 0)
    return std::min(text.find("*/", i) == std::string::npos ? text.size() : text.find("*/", i) + 2, text.size());
  if (text.compare(i, 2, "R\"") == 0) return end_of_raw_string(text, i);
  if (text[i] == '"' || (text[i] == '\'' && !is_digit_separator(text, i))) return end_of_literal(text, i);
  return i;
}

}  // namespace

int SourceFile::n_lines() const { return static_cast<int>(std::count(text.begin(), text.end(), '\n')); }

std::string join(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

std::string without_comments(const std::string& text) {
  std::string out = text;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = end_of_skipped(text, i);
    if (end == i) {
      ++i;
      continue;
    }
    for (; i < end; ++i) {
      if (out[i] != '\n') out[i] = ' ';
    }
  }
  return out;
}

std::vector<Comment> comments_of(const SourceFile& file) {
  std::vector<Comment> comments;
  std::istringstream lines(file.text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string::npos || line.compare(begin, 2, "//") != 0) continue;
    const std::size_t text = line.find_first_not_of("/<! \t", begin);
    if (text != std::string::npos && line.compare(text, 4, "SPDX") != 0) comments.push_back({line.substr(text), number});
  }
  return comments;
}

std::vector<SourceFile> read_sources(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    const std::filesystem::path root = source_path("");
    if (!std::filesystem::exists(root / folder)) continue;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (!entry.is_regular_file() || std::find(kExtensions.begin(), kExtensions.end(), extension) == kExtensions.end())
        continue;
      std::ifstream stream(entry.path());
      std::stringstream text;
      text << stream.rdbuf();
      SourceFile file{std::filesystem::relative(entry.path(), root).string(), text.str(), {}};
      file.includes = includes_of(file.text);
      files.push_back(std::move(file));
    }
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

}  // namespace lathe::tests
