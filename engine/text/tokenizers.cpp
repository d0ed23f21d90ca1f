// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "engine/api/tokenizer.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/tokenizer_json.h"

namespace lathe::engine {
namespace {

struct TokenizerFormat {
  std::string_view file;  ///< its name in a checkpoint's folder
  Result<std::unique_ptr<Tokenizer>> (*open)(const std::string& folder, const std::string& file);
};

constexpr TokenizerFormat kTokenizerJson = {.file = "tokenizer.json", .open = open_tokenizer_json};
constexpr TokenizerFormat kSentencePiece = {.file = "tokenizer.model", .open = open_sentencepiece_tokenizer};

// THE TABLE of tokenizer files; of those that a folder holds the first is used.
constexpr std::array<const TokenizerFormat*, 2> kFormats = {&kTokenizerJson, &kSentencePiece};

std::string known_files() {
  std::string names;
  for (const TokenizerFormat* format : kFormats) names += fmt::format("{}{}", names.empty() ? "" : " or ", format->file);
  return names;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? fs::path(path) : fs::path(path).parent_path();
  if (!is_folder && !fs::exists(path, error)) {
    return fail(ErrorCode::model_refused, "there is no such file or folder", fs::path(path).filename().string());
  }
  for (const TokenizerFormat* format : kFormats) {
    const fs::path file = is_folder ? folder / format->file : fs::path(path);
    // A single file may carry a prefix: "v3.tokenizer.model".
    if (is_folder ? !fs::exists(file, error) : !file.filename().string().ends_with(format->file)) continue;
    return format->open(folder.string(), file.string());
  }
  return fail(ErrorCode::model_refused, fmt::format("no tokenizer: {} is missing", known_files()),
              folder.filename().string());
}

}  // namespace lathe::engine
