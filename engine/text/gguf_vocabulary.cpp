// SPDX-License-Identifier: Apache-2.0
#include "engine/text/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "engine/base/utf8.h"
#include "engine/text/sentencepiece_proto.h"
#include "engine/text/sentencepiece_tokenizer.h"
#include "engine/text/tokenizer_assembly.h"
#include "engine/text/tokenizer_base.h"
#include "engine/text/tokenizer_json_writer.h"
#include "engine/text/word_patterns.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kKeyPrefix = "tokenizer.ggml.";
constexpr std::size_t kMaxTokens = 4'000'000;

tl::unexpected<Error> refuse_key(std::string message, std::string_view key) {
  return fail(ErrorCode::model_refused, std::move(message), fmt::format("{}{}", kKeyPrefix, key));
}

/// Returns the type of a token; all are normal if the file has no types.
PieceType type_of(const GgufVocabulary& vocabulary, std::size_t id) {
  return vocabulary.token_type.empty() ? PieceType::normal : static_cast<PieceType>(vocabulary.token_type[id]);
}

bool is_control(PieceType type) { return type == PieceType::control || type == PieceType::unknown; }

Result<void> check_arrays(const GgufVocabulary& vocabulary) {
  const std::size_t n = vocabulary.tokens.size();
  if (n == 0 || n > kMaxTokens) return refuse_key(fmt::format("{} tokens, must be 1 to {}", n, kMaxTokens), "tokens");
  for (std::size_t id = 0; id < n; ++id) {
    const std::string& token = vocabulary.tokens[id];
    if (token.size() > kMaxPieceBytes) {
      return refuse_key(fmt::format("token {} has {} bytes, at most {}", id, token.size(), kMaxPieceBytes), "tokens");
    }
    if (!is_valid_utf8(token)) return refuse_key(fmt::format("token {} is not UTF-8", id), "tokens");
  }
  if (!vocabulary.token_type.empty() && vocabulary.token_type.size() != n) {
    return refuse_key(fmt::format("{} types for {} tokens", vocabulary.token_type.size(), n), "token_type");
  }
  for (const std::int32_t type : vocabulary.token_type) {
    if (type < 1 || type > 6) return refuse_key(fmt::format("the type {} is unknown", type), "token_type");
  }
  if (!vocabulary.scores.empty() && vocabulary.scores.size() != n) {
    return refuse_key(fmt::format("{} scores for {} tokens", vocabulary.scores.size(), n), "scores");
  }
  return {};
}

/// Returns the text of a token; none: it has no id, or one of no token.
std::optional<std::string> token_text(const GgufVocabulary& vocabulary, std::optional<std::int32_t> id) {
  const bool is_token = id && *id >= 0 && static_cast<std::size_t>(*id) < vocabulary.tokens.size();
  return is_token ? std::optional(vocabulary.tokens[static_cast<std::size_t>(*id)]) : std::nullopt;
}

TokenizerConfig config_of(const GgufVocabulary& vocabulary) {
  TokenizerConfig config;
  config.bos_token = token_text(vocabulary, vocabulary.bos_token_id);
  config.eos_token = token_text(vocabulary, vocabulary.eos_token_id);
  config.unk_token = token_text(vocabulary, vocabulary.unknown_token_id);
  for (const auto& token : {config.bos_token, config.eos_token}) {
    if (token) config.special_tokens.insert(*token);
  }
  config.add_bos = vocabulary.add_bos_token;
  config.add_eos = vocabulary.add_eos_token;
  return config;
}

/// Returns the description with the pieces in the order of their ids, and the added tokens among them.
TokenizerDescription describe(const GgufVocabulary& vocabulary) {
  TokenizerDescription description;
  description.file = "GGUF";
  description.model = Json::object();
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const PieceType type = type_of(vocabulary, i);
    description.vocabulary.emplace_back(vocabulary.tokens[i], id);
    if (is_control(type) || type == PieceType::user_defined) {
      description.added_tokens.push_back({.id = id, .content = vocabulary.tokens[i], .special = is_control(type)});
    }
  }
  return description;
}

/// A token's text and id.
struct NamedToken {
  std::string text;
  std::int32_t id = 0;
};

Json sequence_between(const std::optional<NamedToken>& before, const std::optional<NamedToken>& after,
                      std::string_view texts) {
  Json parts = Json::array();
  const auto add = [&parts](const char* kind, std::string_view id) {
    parts.push_back({{kind, {{"id", id}, {"type_id", 0}}}});
  };
  for (const char& text : texts) {
    if (before) add("SpecialToken", before->text);
    add("Sequence", {&text, 1});
    if (after) add("SpecialToken", after->text);
  }
  return parts;
}

/// Returns a post-processor that adds the tokens `before` and `after` around a text, as far as they are set.
Json surroundings(const std::optional<NamedToken>& before, const std::optional<NamedToken>& after) {
  Json tokens = Json::object();
  for (const auto& token : {before, after}) {
    if (token) tokens[token->text] = {{"id", token->text}, {"ids", {token->id}}, {"tokens", {token->text}}};
  }
  return {{"type", "TemplateProcessing"},
          {"single", sequence_between(before, after, "A")},
          {"pair", sequence_between(before, after, "AB")},
          {"special_tokens", std::move(tokens)}};
}

std::optional<NamedToken> token_of(const std::optional<std::string>& text, std::optional<std::int32_t> id) {
  return text && id ? std::optional(NamedToken{*text, *id}) : std::nullopt;
}

/// The merges of a file, each a pair of pieces.
Result<void> take_merges(const GgufVocabulary& vocabulary, TokenizerDescription& description) {
  for (std::size_t i = 0; i < vocabulary.merges.size(); ++i) {
    const std::string& merge = vocabulary.merges[i];
    const std::size_t blank = merge.find(' ', 1);
    if (blank == merge.npos || blank + 1 == merge.size())
      return refuse_key("must be two pieces", fmt::format("merges[{}]", i));
    description.merges.emplace_back(merge.substr(0, blank), merge.substr(blank + 1));
  }
  return {};
}

Result<TokenizerDescription> byte_level_description(const GgufVocabulary& vocabulary) {
  const WordPattern* pattern = find_word_pattern(vocabulary.pre);
  if (pattern == nullptr) {
    return refuse_key(fmt::format("\"{}\" is unknown (known: {})", printable_excerpt(vocabulary.pre), known_word_patterns()),
                      "pre");
  }
  const TokenizerConfig config = config_of(vocabulary);
  TokenizerDescription description = describe(vocabulary);
  LATHE_TRY_VOID(take_merges(vocabulary, description));
  describe_byte_level(*pattern, description);
  const auto bos = token_of(config.bos_token, vocabulary.bos_token_id);
  const auto eos = token_of(config.eos_token, vocabulary.eos_token_id);
  description.post_processor = surroundings(vocabulary.add_bos_token.value_or(pattern->adds_bos) ? bos : std::nullopt,
                                            vocabulary.add_eos_token.value_or(false) ? eos : std::nullopt);
  return description;
}

Result<std::unique_ptr<Tokenizer>> make_gguf_byte_level(const GgufVocabulary& vocabulary) {
  LATHE_TRY(const TokenizerDescription description, byte_level_description(vocabulary));
  const TokenizerConfig config = config_of(vocabulary);
  return assemble_tokenizer(description, config);
}

/// BPE over whole texts, whose blanks are marks, with pieces for bytes that no other piece has. Source: tokenizer.json of
/// the checkpoints.
Result<TokenizerDescription> gemma4_description(const GgufVocabulary& vocabulary) {
  constexpr std::string_view kBlank = " ", kMark = "\xE2\x96\x81";
  const TokenizerConfig config = config_of(vocabulary);
  TokenizerDescription description = describe(vocabulary);
  LATHE_TRY_VOID(take_merges(vocabulary, description));
  description.model = {
      {"type", "BPE"}, {"byte_fallback", true}, {"fuse_unk", true}, {"unk_token", config.unk_token.value_or("<unk>")}};
  description.normalizer = {{"type", "Replace"}, {"pattern", {{"String", kBlank}}}, {"content", kMark}};
  description.decoder = {{"type", "Sequence"},
                         {"decoders",
                          {{{"type", "Replace"}, {"pattern", {{"String", kMark}}}, {"content", kBlank}},
                           {{"type", "ByteFallback"}},
                           {{"type", "Fuse"}}}}};
  const auto bos = token_of(config.bos_token, vocabulary.bos_token_id);
  const auto eos = token_of(config.eos_token, vocabulary.eos_token_id);
  description.post_processor = surroundings(vocabulary.add_bos_token.value_or(true) ? bos : std::nullopt,
                                            vocabulary.add_eos_token.value_or(false) ? eos : std::nullopt);
  return description;
}

Result<std::unique_ptr<Tokenizer>> make_gemma4(const GgufVocabulary& vocabulary) {
  LATHE_TRY(const TokenizerDescription description, gemma4_description(vocabulary));
  const TokenizerConfig config = config_of(vocabulary);
  return assemble_tokenizer(description, config);
}

/// If strip_accents is absent, accents are stripped if lowercase is set.
Json bert_normalizer(const GgufVocabulary& vocabulary) {
  Json normalizer = {{"type", "BertNormalizer"}};
  if (vocabulary.normalizer_lowercase) normalizer["lowercase"] = *vocabulary.normalizer_lowercase;
  if (vocabulary.normalizer_strip_accents) normalizer["strip_accents"] = *vocabulary.normalizer_strip_accents;
  return normalizer;
}

/// The converter marks pieces that begin a word, instead of pieces that continue one.
Result<std::unique_ptr<Tokenizer>> make_gguf_bert(const GgufVocabulary& vocabulary) {
  constexpr std::string_view kMark = "\xE2\x96\x81", kInside = "##";
  const auto cls_id = vocabulary.cls_token_id ? vocabulary.cls_token_id : vocabulary.bos_token_id;
  const auto separator_id = vocabulary.separator_token_id ? vocabulary.separator_token_id : vocabulary.eos_token_id;
  const auto cls = token_text(vocabulary, cls_id), separator = token_text(vocabulary, separator_id),
             unknown = token_text(vocabulary, vocabulary.unknown_token_id);
  TokenizerDescription description = describe(vocabulary);
  for (auto& [piece, id] : description.vocabulary) {
    if (type_of(vocabulary, static_cast<std::size_t>(id)) != PieceType::normal) continue;
    piece = piece.starts_with(kMark) ? piece.substr(kMark.size()) : std::string(kInside) + piece;
  }
  description.model = {{"type", "WordPiece"}, {"unk_token", unknown.value_or("[UNK]")}};
  description.normalizer = bert_normalizer(vocabulary);
  description.pre_tokenizer = {{"type", "BertPreTokenizer"}};
  description.decoder = {{"type", "WordPiece"}, {"prefix", kInside}};
  description.post_processor = surroundings(token_of(cls, cls_id), token_of(separator, separator_id));
  return assemble_tokenizer(description, {});
}

/// Returns the serialized sentencepiece model. Requires: a score for each token.
std::string sentencepiece_model(const GgufVocabulary& vocabulary, SentencePieceKind kind) {
  SentencePieceProto proto;
  proto.kind = kind;
  proto.add_dummy_prefix = vocabulary.add_space_prefix.value_or(true);
  proto.remove_extra_whitespaces = vocabulary.remove_extra_whitespaces.value_or(kind == SentencePieceKind::unigram);
  proto.charsmap = vocabulary.precompiled_charsmap;
  const std::int32_t unknown = vocabulary.unknown_token_id.value_or(0);
  // A converter that had merges instead of scores gives all pieces the same score: their order is then the order of merges.
  const bool is_in_order = kind == SentencePieceKind::bpe &&
                           std::adjacent_find(vocabulary.scores.begin(), vocabulary.scores.end(), std::not_equal_to<>()) ==
                               vocabulary.scores.end();
  for (std::size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    PieceType type = type_of(vocabulary, i);
    // A model has one unknown piece, but converters also give this type to unused ids.
    if (type == PieceType::unknown) type = PieceType::unused;
    if (i == static_cast<std::size_t>(unknown)) type = PieceType::unknown;
    proto.byte_fallback = proto.byte_fallback || type == PieceType::byte;
    proto.pieces.push_back(
        {.text = vocabulary.tokens[i], .score = is_in_order ? -static_cast<float>(i) : vocabulary.scores[i], .type = type});
  }
  return write_sentencepiece_proto(proto);
}

Result<std::unique_ptr<Tokenizer>> make_sentencepiece(const GgufVocabulary& vocabulary, SentencePieceKind kind) {
  if (vocabulary.scores.empty()) return refuse_key("is missing", "scores");
  const TokenizerConfig config = config_of(vocabulary);
  return make_sentencepiece_tokenizer(sentencepiece_model(vocabulary, kind), config);
}

Result<std::unique_ptr<Tokenizer>> make_llama(const GgufVocabulary& vocabulary) {
  return make_sentencepiece(vocabulary, SentencePieceKind::bpe);
}
Result<std::unique_ptr<Tokenizer>> make_t5(const GgufVocabulary& vocabulary) {
  return make_sentencepiece(vocabulary, SentencePieceKind::unigram);
}

Result<std::string> write_llama(const GgufVocabulary& vocabulary) {
  return sentencepiece_model(vocabulary, SentencePieceKind::bpe);
}
Result<std::string> write_t5(const GgufVocabulary& vocabulary) {
  return sentencepiece_model(vocabulary, SentencePieceKind::unigram);
}
Result<std::string> write_gemma4(const GgufVocabulary& vocabulary) {
  LATHE_TRY(const TokenizerDescription description, gemma4_description(vocabulary));
  return write_tokenizer_json(description);
}
Result<std::string> write_byte_level(const GgufVocabulary& vocabulary) {
  LATHE_TRY(const TokenizerDescription description, byte_level_description(vocabulary));
  return write_tokenizer_json(description);
}

struct GgufKind {
  std::string_view model;
  Result<std::unique_ptr<Tokenizer>> (*make)(const GgufVocabulary& vocabulary);
  std::string_view file{};  ///< file name in a checkpoint's folder; empty: this kind cannot be written
  Result<std::string> (*write)(const GgufVocabulary& vocabulary) = nullptr;
};

// THE TABLE of tokenizers in GGUF files, under the names of tokenizer.ggml.model.
constexpr std::array kGgufKinds = {
    GgufKind{"llama", make_llama, "tokenizer.model", write_llama},
    GgufKind{"gpt2", make_gguf_byte_level, "tokenizer.json", write_byte_level},
    GgufKind{"gemma4", make_gemma4, "tokenizer.json", write_gemma4},
    GgufKind{"bert", make_gguf_bert},
    GgufKind{"t5", make_t5, "tokenizer.model", write_t5},
};

const GgufKind* kind_of(const GgufVocabulary& vocabulary) {
  const auto* const found = std::find_if(kGgufKinds.begin(), kGgufKinds.end(),
                                         [&](const GgufKind& kind) { return kind.model == vocabulary.model; });
  return found == kGgufKinds.end() ? nullptr : found;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_gguf_tokenizer(const GgufVocabulary& vocabulary) {
  LATHE_TRY_VOID(check_arrays(vocabulary));
  if (const GgufKind* kind = kind_of(vocabulary)) return kind->make(vocabulary);
  return refuse_key(
      fmt::format("\"{}\" is unknown (known: llama, gpt2, gemma4, bert, t5)", printable_excerpt(vocabulary.model)), "model");
}

Result<TextFile> write_vocabulary_file(const GgufVocabulary& vocabulary) {
  const GgufKind* kind = kind_of(vocabulary);
  if (kind == nullptr || kind->write == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("a tokenizer of the kind \"{}\" cannot be written", printable_excerpt(vocabulary.model)),
                fmt::format("{}model", kKeyPrefix));
  }
  LATHE_TRY(std::string text, kind->write(vocabulary));
  return TextFile{std::string(kind->file), std::move(text)};
}

}  // namespace lathe::engine
