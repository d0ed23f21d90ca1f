// SPDX-License-Identifier: Apache-2.0
#include "engine/text/gguf_tokenizer.h"

#include <fmt/format.h>

#include "engine/load/gguf/gguf_files.h"
#include "engine/text/gguf_vocabulary.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kTokenizerKeys = "tokenizer.ggml.";
constexpr std::string_view kSeparator = "seperator_token_id";  // spelled as in the format
constexpr std::string_view kLowercase = "normalizer.lowercase", kStripAccents = "normalizer.strip_accents";

std::string path(std::string_view key) { return fmt::format("{}{}", kTokenizerKeys, key); }

/// Leaves out the id of no token, of which readers of the model's configuration warn.
Result<std::optional<std::int32_t>> id_of(const GgufHeader& header, std::string_view key, std::size_t n_tokens) {
  LATHE_TRY(const auto id, header.integer(path(key)));
  if (!id || *id < 0 || *id >= static_cast<std::int64_t>(n_tokens)) return std::optional<std::int32_t>();
  return std::optional(static_cast<std::int32_t>(*id));
}

/// Reads a list of small integers, or the bytes of a text that is stored as a list.
template <class T, class List>
Result<List> narrow(const GgufHeader& header, std::string_view key) {
  LATHE_TRY(const auto wide, header.integers(path(key)));
  List all;
  for (const std::int64_t value : wide) all.push_back(static_cast<T>(value));
  return all;
}

}  // namespace

Result<GgufVocabulary> read_gguf_vocabulary(const GgufHeader& header) {
  GgufVocabulary vocabulary;
  LATHE_TRY(const auto model, header.text(path("model")));
  LATHE_TRY(const auto pre, header.text(path("pre")));
  vocabulary.model = model.value_or("");
  vocabulary.pre = pre.value_or("default");
  LATHE_TRY(vocabulary.tokens, header.texts(path("tokens")));
  LATHE_TRY(vocabulary.merges, header.texts(path("merges")));
  LATHE_TRY(vocabulary.scores, header.numbers(path("scores")));
  LATHE_TRY(vocabulary.token_type, (narrow<std::int32_t, std::vector<std::int32_t>>(header, "token_type")));
  LATHE_TRY(vocabulary.precompiled_charsmap, (narrow<char, std::string>(header, "precompiled_charsmap")));
  LATHE_TRY(vocabulary.bos_token_id, id_of(header, "bos_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.eos_token_id, id_of(header, "eos_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.unknown_token_id, id_of(header, "unknown_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.cls_token_id, id_of(header, "cls_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.separator_token_id, id_of(header, kSeparator, vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.padding_token_id, id_of(header, "padding_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.mask_token_id, id_of(header, "mask_token_id", vocabulary.tokens.size()));
  LATHE_TRY(vocabulary.add_bos_token, header.flag(path("add_bos_token")));
  LATHE_TRY(vocabulary.add_eos_token, header.flag(path("add_eos_token")));
  LATHE_TRY(vocabulary.add_space_prefix, header.flag(path("add_space_prefix")));
  LATHE_TRY(vocabulary.remove_extra_whitespaces, header.flag(path("remove_extra_whitespaces")));
  LATHE_TRY(vocabulary.normalizer_lowercase, header.flag(path(kLowercase)));
  LATHE_TRY(vocabulary.normalizer_strip_accents, header.flag(path(kStripAccents)));
  return vocabulary;
}

void write_gguf_vocabulary(const GgufVocabulary& vocabulary, GgufMetadata& metadata) {
  const auto id = [&](std::string_view key, std::optional<std::int32_t> value) {
    if (value) metadata.set_whole(path(key), static_cast<std::uint32_t>(*value));
  };
  const auto flag = [&](std::string_view key, std::optional<bool> value) {
    if (value) metadata.set_flag(path(key), *value);
  };
  metadata.set_text(path("model"), vocabulary.model);
  if (!vocabulary.pre.empty()) metadata.set_text(path("pre"), vocabulary.pre);
  metadata.set_texts(path("tokens"), vocabulary.tokens);
  if (!vocabulary.scores.empty()) metadata.set_numbers(path("scores"), vocabulary.scores);
  metadata.set_integers(path("token_type"), vocabulary.token_type);
  if (!vocabulary.merges.empty()) metadata.set_texts(path("merges"), vocabulary.merges);
  if (!vocabulary.precompiled_charsmap.empty()) {
    metadata.set_bytes(path("precompiled_charsmap"), vocabulary.precompiled_charsmap);
  }
  id("bos_token_id", vocabulary.bos_token_id);
  id("unknown_token_id", vocabulary.unknown_token_id);
  id("cls_token_id", vocabulary.cls_token_id);
  id(kSeparator, vocabulary.separator_token_id);
  id("padding_token_id", vocabulary.padding_token_id);
  id("mask_token_id", vocabulary.mask_token_id);
  flag("add_bos_token", vocabulary.add_bos_token);
  flag("add_eos_token", vocabulary.add_eos_token);
  flag("add_space_prefix", vocabulary.add_space_prefix);
  flag("remove_extra_whitespaces", vocabulary.remove_extra_whitespaces);
  flag(kLowercase, vocabulary.normalizer_lowercase);
  flag(kStripAccents, vocabulary.normalizer_strip_accents);
}

Result<std::unique_ptr<Tokenizer>> open_gguf_tokenizer(const ModelFolder& folder) {
  LATHE_TRY(const GgufFile file, open_gguf(folder));
  LATHE_TRY(const GgufVocabulary vocabulary, read_gguf_vocabulary(file.header));
  return make_gguf_tokenizer(vocabulary);
}

Result<TokenizerConfig> read_gguf_tokenizer_config(const ModelFolder& folder) {
  LATHE_TRY(const GgufFile file, open_gguf(folder));
  LATHE_TRY(const auto tokens, file.header.texts(path("tokens")));
  TokenizerConfig config;
  const auto name = [&](std::string_view key, std::optional<std::string>& token) -> Result<void> {
    LATHE_TRY(const auto id, id_of(file.header, key, tokens.size()));
    if (id) token = tokens[static_cast<std::size_t>(*id)];
    return {};
  };
  LATHE_TRY_VOID(name("bos_token_id", config.bos_token));
  LATHE_TRY_VOID(name("eos_token_id", config.eos_token));
  LATHE_TRY_VOID(name("unknown_token_id", config.unk_token));
  LATHE_TRY_VOID(name("padding_token_id", config.pad_token));
  return config;
}

}  // namespace lathe::engine
