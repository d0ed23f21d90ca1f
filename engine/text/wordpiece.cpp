// SPDX-License-Identifier: Apache-2.0
#include "engine/text/wordpiece.h"

#include <fmt/format.h>

#include "engine/base/utf8.h"
#include "engine/text/json_field.h"
#include "engine/text/piece_trie.h"

namespace lathe::engine {
namespace {

constexpr std::int64_t kUsualWordCharacters = 100, kMaxWordCharacters = 1'000'000;

class WordPiece final : public WordModel {
 public:
  struct Parts {
    PieceTrie trie;
    std::int32_t inside = PieceTrie::kRoot;  ///< the node after the prefix of continuing pieces; kNone: there are none
    std::int32_t unk_id = 0;
    std::int64_t max_characters = kUsualWordCharacters;  ///< a longer word is unknown
  };
  explicit WordPiece(Parts parts) : parts_(std::move(parts)) {}

  std::string_view kind() const override { return "wordpiece"; }
  bool keeps_bytes() const override { return false; }
  Result<void> encode(const Words& words, EncodeBudget& budget, std::vector<std::int32_t>& ids) const override {
    for (const TextRange word : words.ranges) {
      LATHE_TRY_VOID(budget.check_time());
      const auto text = std::string_view(words.text).substr(word.begin, word.end - word.begin);
      const std::size_t n_before = ids.size();
      if (!is_too_long(text) && cut(text, ids)) continue;
      ids.resize(n_before);
      ids.push_back(parts_.unk_id);
    }
    return {};
  }

 private:
  bool is_too_long(std::string_view word) const {
    if (word.size() <= static_cast<std::size_t>(parts_.max_characters)) return false;
    std::int64_t n = 0;
    for (std::size_t at = 0; at < word.size() && n <= parts_.max_characters; ++n) at += read_utf8(word, at).size;
    return n > parts_.max_characters;
  }

  bool cut(std::string_view word, std::vector<std::int32_t>& ids) const {
    for (std::size_t begin = 0; begin < word.size();) {
      std::int32_t node = begin == 0 ? PieceTrie::kRoot : parts_.inside, best = PieceTrie::kNone;
      std::size_t best_end = begin;
      for (std::size_t at = begin; at < word.size() && node != PieceTrie::kNone;) {
        node = parts_.trie.next(node, word[at++]);
        if (parts_.trie.id(node) == PieceTrie::kNone) continue;
        best = parts_.trie.id(node);
        best_end = at;
      }
      if (best == PieceTrie::kNone) return false;
      ids.push_back(best);
      begin = best_end;
    }
    return true;
  }

  Parts parts_;
};

}  // namespace

Result<std::unique_ptr<WordModel>> make_wordpiece(const WordModelParts& parts) {
  if (parts.byte_level) return parts.refuse("WordPiece over bytes is not supported", "model.type");
  WordPiece::Parts made;
  LATHE_TRY(made.unk_id, parts.id_of_named("unk_token"));
  if (made.unk_id < 0) return parts.refuse("is missing", "model.unk_token");
  LATHE_TRY(made.max_characters, parts.number("max_input_chars_per_word", kUsualWordCharacters, kMaxWordCharacters));
  std::string prefix = "##";
  if (parts.description.model.contains("continuing_subword_prefix")) {
    LATHE_TRY(prefix, rule_field(parts.description.model, "continuing_subword_prefix", "model"));
  }
  std::size_t n_bytes = 0;
  for (const auto& [piece, id] : parts.description.vocabulary) n_bytes += piece.size();
  if (n_bytes > PieceTrie::kMaxBytes) {
    return parts.refuse(fmt::format("pieces of {} bytes together, at most {}", n_bytes, PieceTrie::kMaxBytes),
                        "model.vocab");
  }
  made.trie = PieceTrie(n_bytes);
  for (const auto& [piece, id] : parts.description.vocabulary) {
    if (!piece.empty() && !parts.control.contains(piece)) made.trie.insert(piece, id);
  }
  made.inside = made.trie.next(PieceTrie::kRoot, prefix);
  return std::make_unique<WordPiece>(std::move(made));
}

}  // namespace lathe::engine
