// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/checkpoint_files.h"

#include <fmt/format.h>

#include <array>
#include <fstream>

#include "engine/api/tokenizer.h"
#include "engine/load/gguf/gguf_files.h"
#include "engine/load/wrapped_text.h"
#include "engine/serve/chat_template_source.h"
#include "engine/serve/config_source.h"
#include "engine/text/gguf_tokenizer.h"
#include "engine/text/tokenizer_comparison.h"

namespace lathe::engine {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemplateFolder = "additional_chat_templates";
constexpr std::array<std::string_view, 13> kFiles = {"generation_config.json",
                                                     "tokenizer.json",
                                                     "tokenizer.model",
                                                     "tokenizer_config.json",
                                                     "special_tokens_map.json",
                                                     "added_tokens.json",
                                                     "chat_template.jinja",
                                                     "chat_template.json",
                                                     kTemplateFolder,
                                                     "qwen.tiktoken",
                                                     "vocab.txt",
                                                     "vocab.json",
                                                     "merges.txt"};
constexpr std::string_view kTokenizerConfig = "tokenizer_config.json";
constexpr std::int64_t kMaxFile = 256LL << 20;

Result<void> write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) return fail(ErrorCode::resource_exhausted, "cannot be written", path.string());
  return {};
}

/// Copies files that can be read; each other file becomes a note for people.
class Copies {
 public:
  Copies(const ModelFolder& from, const fs::path& to) : from_(from), to_(to) {}

  Result<void> add(const std::string& name) {
    const auto text = from_.read_text(name, kMaxFile);
    if (text) return write_file(to_ / name, *text);
    notes_.push_back(fmt::format("{} was not copied: {}", name, text.error().message));
    return {};
  }
  std::vector<std::string> take_notes() { return std::move(notes_); }

 private:
  const ModelFolder& from_;
  const fs::path to_;
  std::vector<std::string> notes_;
};

Result<void> copy_template_folder(const ModelFolder& from, const fs::path& to, Copies& copies) {
  std::error_code error;
  for (fs::directory_iterator entry(fs::path(from.path()) / kTemplateFolder, error), end; !error && entry != end;
       entry.increment(error)) {
    const fs::path name = kTemplateFolder / entry->path().filename();
    if (name.extension() != ".jinja") continue;
    fs::create_directory(to / kTemplateFolder);
    LATHE_TRY_VOID(copies.add(name.string()));
  }
  return {};
}

/// Copies all known files. Returns notes about files that cannot be read.
Result<std::vector<std::string>> copy_files(const ModelFolder& from, const fs::path& to) {
  Copies copies(from, to);
  for (const std::string_view name : kFiles) {
    if (name != kTemplateFolder && from.has(name)) LATHE_TRY_VOID(copies.add(std::string(name)));
  }
  LATHE_TRY_VOID(copy_template_folder(from, to, copies));
  return copies.take_notes();
}

/// Writes tokenizer and chat template of a GGUF file as files of a folder.
class TextFiles {
 public:
  TextFiles(const OpenedModel& model, const fs::path& folder) : model_(model), folder_(folder) {}

  /// Returns notes about what could not be written, and why.
  Result<std::vector<std::string>> write() {
    std::vector<std::string> notes;
    Json config = Json::object();
    if (auto written = write_tokenizer(config); !written) {
      if (written.error().code == ErrorCode::resource_exhausted) return tl::unexpected(std::move(written.error()));
      notes.push_back(fmt::format("no tokenizer was written: {}: {}", written.error().where, written.error().message));
    }
    if (!model_.chat_templates.empty()) config["chat_template"] = chat_template_value(model_.chat_templates);
    if (!config.empty()) LATHE_TRY_VOID(write_config(config));
    return notes;
  }

 private:
  Result<void> write_config(const Json& config) const {
    return write_file(folder_ / kTokenizerConfig, dump_json(config, 2) + "\n");
  }

  Result<void> write_tokenizer(Json& config) const {
    LATHE_TRY(const GgufFile file, open_gguf(model_.folder));
    LATHE_TRY(const GgufVocabulary vocabulary, read_gguf_vocabulary(file.header));
    LATHE_TRY(const auto meant, make_gguf_tokenizer(vocabulary));
    LATHE_TRY(const TextFile text, write_vocabulary_file(vocabulary));
    LATHE_TRY(const TokenizerConfig names, read_gguf_tokenizer_config(model_.folder));
    const Json settings = settings_of(vocabulary, names, *meant);
    LATHE_TRY_VOID(write_file(folder_ / text.name, text.text));
    LATHE_TRY_VOID(write_config(settings));
    if (auto same = compare(*meant); !same) {
      fs::remove(folder_ / text.name);
      fs::remove(folder_ / kTokenizerConfig);
      return same;
    }
    config = settings;
    return {};
  }

  static Json settings_of(const GgufVocabulary& vocabulary, const TokenizerConfig& names, const Tokenizer& tokenizer) {
    const bool is_byte_level = vocabulary.model == "gpt2";
    Json settings = {{"tokenizer_class", is_byte_level ? "PreTrainedTokenizerFast" : "LlamaTokenizer"},
                     {"add_bos_token", tokenizer.adds_bos()},
                     {"add_eos_token", vocabulary.add_eos_token.value_or(false)},
                     {"clean_up_tokenization_spaces", false}};
    if (!is_byte_level) settings["legacy"] = true;
    const auto name = [&](const char* key, const std::optional<std::string>& token) {
      if (token) settings[key] = *token;
    };
    name("bos_token", names.bos_token);
    name("eos_token", names.eos_token);
    name("unk_token", names.unk_token);
    name("pad_token", names.pad_token);
    return settings;
  }

  /// Compares token ids of sample texts: settings that the files cannot express appear as differences.
  Result<void> compare(const Tokenizer& meant) const {
    LATHE_TRY(const auto written, open_tokenizer(folder_.string()));
    LATHE_TRY(const auto sample, differing_sample(*written, meant));
    if (!sample) return {};
    return fail(ErrorCode::unsupported, fmt::format("its files would give other tokens for \"{:.24}\"", *sample),
                model_.folder.name());
  }

  const OpenedModel& model_;
  const fs::path& folder_;
};

/// Writes the files for a model from a GGUF file. Returns notes about what a folder made from GGUF lacks.
Result<std::vector<std::string>> write_files_of_gguf(const OpenedModel& model, const fs::path& folder) {
  LATHE_TRY(std::vector<std::string> notes, TextFiles(model, folder).write());
  LATHE_TRY(const GgufFamily* family, family_of_architecture(model.config.architecture->name, model.config.has_experts()));
  if (family->parts_experts) {
    notes.push_back(
        "each expert has its own tensors, which Lathe reads; transformers expects one tensor for all experts of a layer");
  }
  if (family->splits_qkv) {
    notes.push_back("Q, K and V have a tensor each, which Lathe reads; the family's own code expects them in one tensor");
  }
  return notes;
}

}  // namespace

std::span<const std::string_view> files_beside_config() { return kFiles; }

Result<std::vector<std::string>> write_checkpoint_files(const OpenedModel& model, kernels::Dtype dtype, bool is_untied,
                                                        const fs::path& folder) {
  LATHE_TRY(Json config, read_config_json(model.folder));
  config.erase("dtype");
  for (const char* key : {"quantization_config", "compression_config", "linear_value_heads_tiled"}) {
    config.erase(key);
    if (Json* const text = wrapped_text(config)) text->erase(key);
  }
  config["torch_dtype"] = name_of(dtype);
  if (!config.contains("pad_token_id")) config["pad_token_id"] = nullptr;  // else some families assume an id of their own
  if (is_untied) config["tie_word_embeddings"] = false;
  LATHE_TRY_VOID(write_file(folder / kConfigFile, dump_json(config, 2) + "\n"));
  if (!model.folder.gguf().empty()) return write_files_of_gguf(model, folder);
  return copy_files(model.folder, folder);
}

}  // namespace lathe::engine
