// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/text_lines.h"
#include "engine/base/utf8.h"
#include "engine/text/json_field.h"
#include "engine/text/tokenizer_assembly.h"
#include "engine/text/tokenizer_base.h"
#include "engine/text/tokenizer_config.h"
#include "engine/text/tokenizer_json_file.h"
#include "engine/text/word_patterns.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kMaxVocabularyBytes = 64LL << 20;
constexpr std::string_view kMergesFile = "merges.txt";

struct TokenizerClass {
  std::string_view name, pattern;
  std::string_view end_of_text;  ///< eos of the class if the configuration names none
};

// THE TABLE of classes over vocab.json and merges.txt. A folder that names no class is read as GPT-2's.
constexpr std::array kClasses = {
    TokenizerClass{"", "gpt-2", "<|endoftext|>"},
    TokenizerClass{"GPT2Tokenizer", "gpt-2", "<|endoftext|>"},
    TokenizerClass{"CodeGenTokenizer", "gpt-2", "<|endoftext|>"},
    TokenizerClass{"GPTNeoXTokenizer", "gpt-2", "<|endoftext|>"},
    TokenizerClass{"Qwen2Tokenizer", "qwen2", "<|endoftext|>"},
};

Result<const TokenizerClass*> class_of(const TokenizerConfig& config) {
  std::string_view name = config.tokenizer_class;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  std::string known;
  for (const TokenizerClass& one : kClasses) {
    if (one.name == name) return &one;
    if (!one.name.empty()) known.append(known.empty() ? "" : ", ").append(one.name);
  }
  return fail(
      ErrorCode::model_refused,
      fmt::format("\"{}\" is unknown for vocab.json and merges.txt (known: {}); save its tokenizer.json in the same folder",
                  printable_excerpt(name), known),
      "tokenizer_config.json: tokenizer_class");
}

/// Reads merges, one "left right" per line, lowest rank first; the first line may be a comment with the version.
Result<void> read_merges(std::string_view text, TokenizerDescription& description) {
  return for_each_line(text, [&](std::string_view line, std::size_t n) -> Result<void> {
    if (line.empty() || (n == 1 && line.starts_with("#version"))) return {};
    const std::size_t blank = line.find(' ');
    if (blank == line.npos || blank == 0 || blank + 1 == line.size() || line.find(' ', blank + 1) != line.npos) {
      return fail(ErrorCode::model_refused, "must be two pieces", fmt::format("{}: line {}", kMergesFile, n));
    }
    description.merges.emplace_back(line.substr(0, blank), line.substr(blank + 1));
    return {};
  });
}

/// Adds the control tokens that the configuration names and the vocabulary holds, but no list of added tokens.
void add_named(const TokenizerConfig& config, TokenizerDescription& description) {
  for (const auto& [piece, id] : description.vocabulary) {
    if (!config.special_tokens.contains(piece)) continue;
    const bool listed = std::any_of(config.added_tokens.begin(), config.added_tokens.end(),
                                    [&, &own = id](const AddedToken& token) { return token.id == own; });
    if (!listed) description.added_tokens.push_back(config.special_token(piece, id));
  }
}

bool holds(const TokenizerDescription& description, const TokenizerConfig& config, std::string_view name) {
  const auto is_it = [&](const AddedToken& token) { return token.content == name; };
  return std::any_of(config.added_tokens.begin(), config.added_tokens.end(), is_it) ||
         std::any_of(description.vocabulary.begin(), description.vocabulary.end(),
                     [&](const auto& entry) { return entry.first == name; });
}

/// Control tokens of BERT's class if the configuration names none.
constexpr std::array kBertTokens = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

Json bert_normalizer(const Json& config) {
  const auto strip = config.find("strip_accents");
  return {{"type", "BertNormalizer"},
          {"clean_text", true},
          {"handle_chinese_chars", flag_field(config, "tokenize_chinese_chars", true)},
          {"strip_accents", strip != config.end() && strip->is_boolean() ? *strip : Json()},
          {"lowercase", flag_field(config, "do_lower_case", true)}};
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> open_vocabulary_and_merges(const ModelFolder& folder, const std::string& file) {
  LATHE_TRY(TokenizerConfig config, read_tokenizer_config(folder));
  LATHE_TRY(const TokenizerClass* known, class_of(config));
  TokenizerDescription description;
  description.file = file;
  description.model = Json::object();
  LATHE_TRY_VOID(read_vocabulary_json(folder, file, description));
  LATHE_TRY(const std::string merges, folder.read_text(kMergesFile, kMaxVocabularyBytes));
  LATHE_TRY_VOID(read_merges(merges, description));
  describe_byte_level(*find_word_pattern(known->pattern), description);
  if (!config.eos_token && holds(description, config, known->end_of_text)) {
    config.eos_token = std::string(known->end_of_text);
    config.special_tokens.insert(*config.eos_token);
  }
  add_named(config, description);
  return assemble_tokenizer(description, config);
}

Result<TokenizerDescription> read_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file,
                                                       TokenizerConfig& config) {
  LATHE_TRY(const Json options, folder.read_json_if_present("tokenizer_config.json"));
  LATHE_TRY(const std::string text, folder.read_text(file, kMaxVocabularyBytes));
  TokenizerDescription description;
  description.file = file;
  const auto take = [&](std::string_view line, std::size_t n) -> Result<void> {
    const std::string where = fmt::format("{}: line {}", file, n);
    if (line.size() > kMaxPieceBytes) {
      return fail(ErrorCode::model_refused, fmt::format("has {} bytes, at most {}", line.size(), kMaxPieceBytes), where);
    }
    if (!is_valid_utf8(line)) return fail(ErrorCode::model_refused, "is not UTF-8", where);
    description.vocabulary.emplace_back(line, static_cast<std::int32_t>(n - 1));
    return {};
  };
  LATHE_TRY_VOID(for_each_line(text, take));
  for (const char* name : kBertTokens) config.special_tokens.insert(name);
  add_named(config, description);
  description.model = {{"type", "WordPiece"}, {"unk_token", config.unk_token.value_or("[UNK]")}};
  description.normalizer = bert_normalizer(options);
  description.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  description.decoder = {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}};
  description.post_processor = {
      {"type", "TemplateProcessing"},
      {"single",
       {{{"SpecialToken", {{"id", "[CLS]"}}}}, {{"Sequence", {{"id", "A"}}}}, {{"SpecialToken", {{"id", "[SEP]"}}}}}}};
  return description;
}

Result<std::unique_ptr<Tokenizer>> open_wordpiece_vocabulary(const ModelFolder& folder, const std::string& file) {
  LATHE_TRY(TokenizerConfig config, read_tokenizer_config(folder));
  LATHE_TRY(const TokenizerDescription description, read_wordpiece_vocabulary(folder, file, config));
  return assemble_tokenizer(description, config);
}

}  // namespace lathe::engine
