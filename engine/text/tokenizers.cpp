// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "engine/api/checkpoint.h"
#include "engine/api/tokenizer.h"
#include "engine/load/files/model_folder.h"
#include "engine/text/byte_tokenizer.h"
#include "engine/text/gguf_tokenizer.h"
#include "engine/text/rank_file.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/tokenizer_json.h"
#include "engine/text/vocabulary_files.h"

namespace lathe::engine {
namespace {

struct TokenizerFormat {
  std::string_view file;  ///< file name in a checkpoint's folder
  Result<std::unique_ptr<Tokenizer>> (*open)(const ModelFolder& folder, const std::string& file);
};

/// Opens tokenizer.model, a name that two formats share.
Result<std::unique_ptr<Tokenizer>> open_tokenizer_model(const ModelFolder& folder, const std::string& file) {
  constexpr std::int64_t kMaxFileBytes = 256LL << 20;
  LATHE_TRY(const std::string bytes, folder.read_text(file, kMaxFileBytes));
  return is_rank_file(bytes) ? open_rank_file(folder, file) : open_sentencepiece_tokenizer(folder, file);
}

constexpr TokenizerFormat kTokenizerJson = {.file = "tokenizer.json", .open = open_tokenizer_json};
constexpr TokenizerFormat kTokenizerModel = {.file = "tokenizer.model", .open = open_tokenizer_model};
constexpr TokenizerFormat kVocabularyAndMerges = {.file = "vocab.json", .open = open_vocabulary_and_merges};
constexpr TokenizerFormat kRankFile = {.file = "qwen.tiktoken", .open = open_rank_file};
constexpr TokenizerFormat kWordPieceVocabulary = {.file = "vocab.txt", .open = open_wordpiece_vocabulary};

// THE TABLE of tokenizer files; the first one that a folder holds is used.
constexpr std::array<const TokenizerFormat*, 5> kTokenizerFormats = {
    &kTokenizerJson, &kTokenizerModel, &kVocabularyAndMerges, &kRankFile, &kWordPieceVocabulary};

std::string known_files() {
  std::string names;
  for (const TokenizerFormat* format : kTokenizerFormats)
    names += fmt::format("{}{}", names.empty() ? "" : " or ", format->file);
  return names;
}

/// The tokenizer of a shape, with as many ids as its embeddings have rows.
Result<std::unique_ptr<Tokenizer>> open_shape_tokenizer(const std::string& path) {
  LATHE_TRY(const ModelFolder folder, ModelFolder::open(path));
  LATHE_TRY(const Json config, folder.read_json("config.json"));
  return make_byte_tokenizer(config.at("vocab_size").get<std::int32_t>());
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path) {
  namespace fs = std::filesystem;
  if (is_shape_path(path)) return open_shape_tokenizer(path);
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const std::string name = fs::path(path).filename().string();
  if (!is_folder && !fs::exists(path, error)) {
    return fail(
        ErrorCode::model_refused,
        fmt::format("there is no such file or folder; give the folder of a checkpoint, a .gguf file, or {}", known_files()),
        path);
  }
  const fs::path parent = fs::path(path).parent_path();
  std::string folder_path = is_folder ? path : parent.empty() ? "." : parent.string();
  if (is_folder || is_gguf_file(path)) {
    LATHE_TRY(const ModelFolder model, ModelFolder::open(path));
    if (!model.gguf().empty()) return open_gguf_tokenizer(model);
    folder_path = model.path();  // for a repository in the Hugging Face cache, its snapshot
  }
  LATHE_TRY(const ModelFolder folder, ModelFolder::open_files(folder_path));
  for (const TokenizerFormat* format : kTokenizerFormats) {
    if (is_folder && folder.has(format->file)) return format->open(folder, std::string(format->file));
    // A single file may carry a prefix: "v3.tokenizer.model".
    if (!is_folder && name.ends_with(format->file)) return format->open(folder, name);
  }
  if (!is_folder) {
    return fail(ErrorCode::model_refused,
                fmt::format("this is not the name of a tokenizer file, which ends in {}; rename it, or give the folder of a "
                            "checkpoint or a .gguf file",
                            known_files()),
                path);
  }
  return fail(ErrorCode::model_refused,
              fmt::format("no tokenizer: {} is missing; give another folder or a file with --tokenizer", known_files()),
              folder.name());
}

}  // namespace lathe::engine
