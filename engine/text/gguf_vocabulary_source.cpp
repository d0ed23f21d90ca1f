// SPDX-License-Identifier: Apache-2.0
// find_gguf_vocabulary: converts the tokenizer of a checkpoint's folder to the arrays of a GGUF file.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/text/gguf_tokenizer.h"
#include "engine/text/json_field.h"
#include "engine/text/rank_file.h"
#include "engine/text/sentencepiece_proto.h"
#include "engine/text/tokenizer_comparison.h"
#include "engine/text/tokenizer_json_file.h"
#include "engine/text/vocabulary_files.h"
#include "engine/text/word_patterns.h"

namespace lathe::engine {
namespace {

constexpr std::string_view kModelFile = "tokenizer.model", kJsonFile = "tokenizer.json", kLinesFile = "vocab.txt";
constexpr std::string_view kWordMark = "\xE2\x96\x81";  // prefix of BERT's pieces that begin a word
constexpr std::int64_t kUsualCharactersPerWord = 100;   // WordPiece: the default of max_input_chars_per_word
constexpr std::int64_t kMaxSourceModelBytes = 256LL << 20;

class VocabularyMaker {
 public:
  VocabularyMaker(const ModelFolder& folder, const Tokenizer& tokenizer, std::int64_t n_rows)
      : folder_(folder), tokenizer_(tokenizer), n_rows_(n_rows) {}

  Result<GgufVocabulary> make() {
    LATHE_TRY(config_, read_tokenizer_config(folder_));
    LATHE_TRY_VOID(take_file());
    for (const AddedToken& token : config_.added_tokens) add_token(token);
    while (static_cast<std::int64_t>(made_.tokens.size()) < n_rows_) {
      put(made_.tokens.size(), fmt::format("[PAD{}]", made_.tokens.size()), PieceType::unused);
    }
    LATHE_TRY_VOID(made_.model == "bert" ? take_surroundings() : take_ends());
    LATHE_TRY_VOID(compare());
    return std::move(made_);
  }

 private:
  tl::unexpected<Error> refuse(std::string_view file, std::string_view what) const {
    return fail(ErrorCode::unsupported, fmt::format("{}: GGUF files cannot express that", what), std::string(file));
  }

  void put(std::size_t id, std::string text, PieceType type) {
    while (made_.tokens.size() <= id) {
      made_.tokens.push_back(fmt::format("[PAD{}]", made_.tokens.size()));
      made_.token_type.push_back(static_cast<std::int32_t>(PieceType::unused));
      if (has_scores_) made_.scores.push_back(0);
    }
    made_.tokens[id] = std::move(text);
    made_.token_type[id] = static_cast<std::int32_t>(type);
  }

  /// Adds an added token; the unknown token keeps its type.
  void add_token(const AddedToken& token) {
    if (made_.unknown_token_id == token.id) return;
    put(static_cast<std::size_t>(token.id), token.content, token.special ? PieceType::control : PieceType::user_defined);
  }

  Result<void> take_file() {
    if (folder_.has(kModelFile)) return take_model();
    if (folder_.has(kJsonFile)) return take_json();
    if (folder_.has(kLinesFile)) return take_lines();
    return refuse(folder_.name(), "a vocabulary without tokenizer.json, tokenizer.model or vocab.txt");
  }

  Result<void> take_ends() {
    made_.bos_token_id = tokenizer_.bos_id();
    if (!tokenizer_.eos_ids().empty()) made_.eos_token_id = tokenizer_.eos_ids().front();
    made_.add_bos_token = tokenizer_.adds_bos();
    return {};
  }

  /// Readers add one token before a text and one after it. GGUF files store both ids twice: under BERT's names and as bos
  /// and eos.
  Result<void> take_surroundings() {
    LATHE_TRY(const std::vector<std::int32_t> around, tokenizer_.encode("", true, false));
    if (around.size() != 2) return refuse(folder_.name(), "WordPiece without one token before a text and one after it");
    made_.cls_token_id = made_.bos_token_id = around.front();
    made_.separator_token_id = made_.eos_token_id = around.back();
    made_.add_bos_token = made_.add_eos_token = true;
    return {};
  }

  Result<void> take_model() {
    LATHE_TRY(const std::string bytes, folder_.read_text(kModelFile, kMaxSourceModelBytes));
    if (is_rank_file(bytes)) return refuse(kModelFile, "a list of ranks");
    LATHE_TRY(const SentencePieceProto proto, read_sentencepiece_proto(bytes));
    made_.model = proto.kind == SentencePieceKind::bpe ? "llama" : "t5";
    has_scores_ = true;
    for (const SentencePieceEntry& piece : proto.pieces) {
      const std::size_t id = made_.tokens.size();
      put(id, std::string(piece.text), piece.type);
      made_.scores[id] = piece.score;
      if (piece.type == PieceType::unknown) made_.unknown_token_id = static_cast<std::int32_t>(id);
    }
    made_.add_space_prefix = proto.add_dummy_prefix;
    made_.remove_extra_whitespaces = proto.remove_extra_whitespaces;
    made_.precompiled_charsmap = proto.charsmap;
    return {};
  }

  Result<void> take_json() {
    LATHE_TRY(const TokenizerDescription description, read_tokenizer_json(folder_, std::string(kJsonFile)));
    const std::string type = description.model.value("type", "");
    const WordPattern* pattern = find_word_pattern(description);
    if (type == "BPE" && description.model.value("byte_fallback", false)) {
      take_sentencepiece(description);
    } else if (type == "BPE" && pattern != nullptr) {
      take_byte_level(description, *pattern);
    } else if (type == "WordPiece") {
      LATHE_TRY_VOID(take_wordpiece(description));
    } else {
      return refuse(kJsonFile, fmt::format("{} with a pre-tokenizer that has no name in GGUF files", type));
    }
    for (const AddedToken& token : description.added_tokens) add_token(token);
    return {};
  }

  Result<void> take_lines() {
    LATHE_TRY(const TokenizerDescription description, read_wordpiece_vocabulary(folder_, std::string(kLinesFile), config_));
    LATHE_TRY_VOID(take_wordpiece(description));
    for (const AddedToken& token : description.added_tokens) add_token(token);
    return {};
  }

  /// Returns whether texts are normalized and cut as readers of GGUF files do it for BERT.
  static bool is_cut_as_usual(const TokenizerDescription& description) {
    const Json& normalizer = description.normalizer;
    return normalizer.is_object() && normalizer.value("type", "") == "BertNormalizer" &&
           flag_field(normalizer, "clean_text", true) && flag_field(normalizer, "handle_chinese_chars", true) &&
           description.pre_tokenizer.is_object() && description.pre_tokenizer.value("type", "") == "BertPreTokenizer" &&
           description.model.value("max_input_chars_per_word", kUsualCharactersPerWord) == kUsualCharactersPerWord;
  }

  /// Marks pieces that begin a word, instead of pieces that continue one. Added tokens keep their text: they are added
  /// later.
  Result<void> take_wordpiece(const TokenizerDescription& description) {
    if (!is_cut_as_usual(description)) return refuse(description.file, "WordPiece with another pre-tokenizer than BERT's");
    made_.model = "bert";
    made_.normalizer_lowercase = flag_field(description.normalizer, "lowercase", true);
    made_.normalizer_strip_accents = flag_field(description.normalizer, "strip_accents", *made_.normalizer_lowercase);
    const std::string inside = description.model.value("continuing_subword_prefix", "##"),
                      unknown = description.model.value("unk_token", "[UNK]");
    for (const auto& [piece, id] : description.vocabulary) {
      const auto place = static_cast<std::size_t>(id);
      if (piece == unknown) {
        put(place, piece, PieceType::control);
      } else if (!piece.starts_with(inside)) {
        put(place, std::string(kWordMark) + piece, PieceType::normal);
      } else if (const std::string rest = piece.substr(inside.size()); !rest.starts_with(kWordMark)) {
        put(place, rest, PieceType::normal);
      } else {
        return refuse(description.file, fmt::format("the piece \"{}\"", piece));
      }
    }
    const auto id_of = [&](std::string_view name) -> std::optional<std::int32_t> {
      const auto found = std::find_if(description.vocabulary.begin(), description.vocabulary.end(),
                                      [&](const auto& entry) { return entry.first == name; });
      return found == description.vocabulary.end() ? std::nullopt : std::optional(found->second);
    };
    made_.unknown_token_id = id_of(unknown);
    made_.padding_token_id = id_of(config_.pad_token.value_or("[PAD]"));
    made_.mask_token_id = id_of(config_.mask_token.value_or("[MASK]"));
    return {};
  }

  void take_byte_level(const TokenizerDescription& description, const WordPattern& pattern) {
    made_.model = "gpt2";
    made_.pre = pattern.name;
    for (const auto& [piece, id] : description.vocabulary) put(static_cast<std::size_t>(id), piece, PieceType::normal);
    for (const auto& [left, right] : description.merges) made_.merges.push_back(left + " " + right);
  }

  /// Takes the vocabulary of a sentencepiece model that was converted to tokenizer.json: the score of a piece is the index
  /// of its merge.
  void take_sentencepiece(const TokenizerDescription& description) {
    made_.model = "llama";
    has_scores_ = true;
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < description.merges.size(); ++i) {
      places.emplace(description.merges[i].first + description.merges[i].second, i);
    }
    const Json unknown = description.model.value("unk_token", Json());
    for (const auto& [piece, id] : description.vocabulary) {
      const auto place = places.find(piece);
      const bool is_byte = piece.size() == 6 && piece.starts_with("<0x") && piece.ends_with(">");
      const bool is_unknown = unknown.is_string() && unknown == piece;
      put(static_cast<std::size_t>(id), piece,
          is_byte      ? PieceType::byte
          : is_unknown ? PieceType::unknown
                       : PieceType::normal);
      if (is_unknown) made_.unknown_token_id = id;
      made_.scores[static_cast<std::size_t>(id)] =
          -static_cast<float>(place == places.end() ? places.size() : place->second);
    }
    made_.add_space_prefix = dump_json(description.normalizer).find("\"Prepend\"") != std::string::npos;
    made_.remove_extra_whitespaces = false;
  }

  /// Compares the ids of sample texts, because the arrays cannot express every tokenizer.
  Result<void> compare() const {
    LATHE_TRY(const auto read_again, make_gguf_tokenizer(made_));
    LATHE_TRY(const auto sample, differing_sample(*read_again, tokenizer_));
    if (!sample) return {};
    return fail(ErrorCode::unsupported,
                fmt::format("a GGUF file of this tokenizer would give other tokens for \"{:.24}\"", *sample),
                folder_.name());
  }

  const ModelFolder& folder_;
  const Tokenizer& tokenizer_;
  const std::int64_t n_rows_;
  bool has_scores_ = false;
  TokenizerConfig config_;
  GgufVocabulary made_;
};

}  // namespace

Result<std::optional<GgufVocabulary>> find_gguf_vocabulary(const ModelFolder& folder, std::int64_t n_rows) {
  constexpr std::array<std::string_view, 5> kFiles = {kJsonFile, kModelFile, "vocab.json", "qwen.tiktoken", "vocab.txt"};
  if (std::none_of(kFiles.begin(), kFiles.end(), [&](std::string_view file) { return folder.has(file); })) {
    return std::optional<GgufVocabulary>();
  }
  LATHE_TRY(const auto tokenizer, open_tokenizer(folder.path()));
  LATHE_TRY(GgufVocabulary vocabulary, VocabularyMaker(folder, *tokenizer, n_rows).make());
  return std::optional(std::move(vocabulary));
}

}  // namespace lathe::engine
