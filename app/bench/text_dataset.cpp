// SPDX-License-Identifier: Apache-2.0
#include "app/bench/text_dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "engine/api/json.h"
#include "engine/api/utf8.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::Result;

constexpr std::streamoff kMaxBytes = 1LL << 30;

/// Refuses files that are no text, such as compressed files: a measurement on them would mean nothing.
Result<void> check_text(const std::string& text, const std::string& path) {
  for (std::size_t at = 0; at < text.size();) {
    const engine::Utf8Step step = engine::read_utf8(text, at);
    if (!step.valid) {
      return engine::fail(ErrorCode::invalid_argument, fmt::format("is not UTF-8 text: byte {} of {}", at + 1, text.size()),
                          path);
    }
    at += step.size;
  }
  return {};
}

tl::unexpected<engine::Error> refuse_text(std::string message, const std::string& path) {
  return engine::fail(ErrorCode::invalid_argument, std::move(message), path);
}

Result<TextDataset> from_list(const std::string& text, const std::string& path) {
  LATHE_TRY(const Json list, engine::parse_json(text, path));
  TextDataset dataset{.texts = {}, .given = {}, .is_list = true};
  if (!list.is_array()) return refuse_text("must be a list of strings", path);
  for (const Json& item : list) {
    if (!item.is_string())
      return refuse_text(fmt::format("item {} must be a string, got {}", dataset.texts.size(), item.type_name()), path);
    dataset.texts.push_back(item.get<std::string>());
  }
  return dataset;
}

Result<TextDataset> from_lines(const std::string& text, const std::string& path) {
  TextDataset dataset{.texts = {}, .given = {}, .is_list = true};
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    LATHE_TRY(const Json item, engine::parse_json(line, fmt::format("{}, line {}", path, number)));
    if (!item.is_object() || !item.contains("text") || !item["text"].is_string()) {
      return refuse_text(fmt::format("line {} must be an object with a string \"text\"", number), path);
    }
    dataset.texts.push_back(item["text"].get<std::string>());
    const auto given = item.find("given");
    if (given != item.end() && !given->is_string()) {
      return refuse_text(fmt::format("line {}: \"given\" must be a string, got {}", number, given->type_name()), path);
    }
    dataset.given.push_back(given != item.end() ? given->get<std::string>() : std::string());
  }
  const auto is_empty = [](const std::string& given) { return given.empty(); };
  if (std::all_of(dataset.given.begin(), dataset.given.end(), is_empty)) dataset.given.clear();
  return dataset;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return engine::fail(ErrorCode::not_found, fmt::format("there is no readable file {}", path), "dataset");
  const std::streamoff n_bytes = file.tellg();
  if (n_bytes < 0) return engine::fail(ErrorCode::not_found, fmt::format("{} is not a file", path), "dataset");
  if (n_bytes > kMaxBytes) {
    return engine::fail(ErrorCode::too_large,
                        fmt::format("{} has {} bytes, but at most {} are read", path, n_bytes, kMaxBytes), "dataset");
  }
  std::string text(static_cast<std::size_t>(n_bytes), '\0');
  file.seekg(0);
  file.read(text.data(), n_bytes);
  if (!file) return engine::fail(ErrorCode::not_found, fmt::format("{} cannot be read", path), "dataset");
  LATHE_TRY_VOID(check_text(text, path));
  return text;
}

Result<TextDataset> read_text_dataset(const std::string& path) {
  LATHE_TRY(const std::string text, read_text_file(path));
  if (path.ends_with(".json")) return from_list(text, path);
  if (path.ends_with(".jsonl")) return from_lines(text, path);
  return TextDataset{.texts = {text}, .given = {}, .is_list = false};
}

}  // namespace lathe::app
