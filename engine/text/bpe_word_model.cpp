// SPDX-License-Identifier: Apache-2.0
#include "engine/text/bpe_word_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "engine/base/utf8.h"
#include "engine/text/bpe.h"
#include "engine/text/byte_alphabet.h"
#include "engine/text/json_field.h"

namespace lathe::engine {
namespace {

class BpeWordModel final : public WordModel {
 public:
  BpeWordModel(BpeModel model, std::size_t n_ids) : model_(std::move(model)), stays_whole_(n_ids) {}

  std::string_view kind() const override { return "bpe"; }
  bool keeps_bytes() const override {
    const std::vector<std::int32_t>& bytes = model_.byte_ids;
    return !bytes.empty() && std::all_of(bytes.begin(), bytes.end(), [](std::int32_t id) { return id >= 0; });
  }
  Result<void> encode(const Words& words, EncodeBudget& budget, std::vector<std::int32_t>& ids) const override {
    BpeScratch scratch;
    for (const TextRange word : words.ranges) {
      LATHE_TRY_VOID(budget.check_time());
      append(std::string_view(words.text).substr(word.begin, word.end - word.begin), scratch, ids);
    }
    return {};
  }

 private:
  enum class Whole : std::uint8_t { not_known, yes, no };

  /// Most words are pieces, and the merges give most of these back as one id. The result for each piece is found once and
  /// cached.
  void append(std::string_view word, BpeScratch& scratch, std::vector<std::int32_t>& ids) const {
    const std::int32_t piece = model_.pieces.find(word);
    if (piece == PieceTable::kNone) return merge_word(model_, word, scratch, ids);
    std::atomic<Whole>& whole = stays_whole_[static_cast<std::size_t>(piece)];
    if (model_.ignore_merges || whole.load(std::memory_order_relaxed) == Whole::yes) return ids.push_back(piece);
    const std::size_t n_before = ids.size();
    merge_word(model_, word, scratch, ids);
    const bool is_whole = ids.size() == n_before + 1 && ids.back() == piece;
    whole.store(is_whole ? Whole::yes : Whole::no, std::memory_order_relaxed);
  }

  BpeModel model_;
  mutable std::vector<std::atomic<Whole>> stays_whole_;  // by id; every thread finds the same value
};

/// Returns the form of a vocabulary piece inside a word: its bytes if words are bytes, otherwise the piece itself.
std::optional<std::string> word_form(const std::string& piece, bool byte_level) {
  return byte_level ? bytes_of_alphabet(piece) : std::optional(piece);
}

/// Fills byte_ids; a byte without a piece stays -1.
void add_byte_ids(BpeModel& model, bool byte_fallback) {
  if (!model.byte_level && !byte_fallback) return;
  model.byte_ids.assign(256, -1);
  for (int byte = 0; byte < 256; ++byte) {
    model.byte_ids[static_cast<std::size_t>(byte)] =
        model.pieces.find(model.byte_level ? std::string(1, static_cast<char>(byte)) : fmt::format("<0x{:02X}>", byte));
  }
}

Result<void> add_listed_merges(const WordModelParts& parts, BpeModel& model) {
  model.merges = MergeTable(parts.description.merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left_text, right_text] : parts.description.merges) {
    const std::string field = fmt::format("model.merges[{}]", rank);
    const auto left = word_form(left_text, model.byte_level), right = word_form(right_text, model.byte_level);
    if (!left || !right) return parts.refuse("holds a character outside the byte alphabet", field);
    std::int32_t ids[3] = {};
    const std::string* texts[3] = {&*left, &*right, nullptr};
    const std::string joined_text = *left + *right;
    texts[2] = &joined_text;
    for (int i = 0; i < 3; ++i) {
      ids[i] = model.pieces.find(*texts[i]);
      if (ids[i] == PieceTable::kNone) {
        return parts.refuse(fmt::format("names \"{}\", which is not in the vocabulary", printable_excerpt(*texts[i])),
                            field);
      }
    }
    ++rank;
    if (parts.control.contains(left_text + right_text)) continue;
    if (!model.merges.insert(ids[0], ids[1], {rank - 1, ids[2]})) {
      return parts.refuse(
          fmt::format("\"{}\" and \"{}\" are merged twice", printable_excerpt(left_text), printable_excerpt(right_text)),
          field);
    }
  }
  return {};
}

/// Adds a merge for every pair of pieces whose concatenation is a piece; the rank is the id of that piece. Source: tiktoken,
/// byte_pair_merge.
Result<void> add_merges_by_id(const WordModelParts& parts, BpeModel& model) {
  // Every split of every piece is looked up: for real vocabularies this reads some ten million bytes.
  constexpr std::size_t kMaxBytesRead = 512u << 20;
  struct Pair {
    std::int32_t left, right, joined;
  };
  std::vector<Pair> pairs;
  std::size_t n_bytes_read = 0;
  model.pieces.for_each([&](std::string_view piece, std::int32_t id) {
    n_bytes_read += piece.size() * piece.size();
    if (n_bytes_read > kMaxBytesRead || parts.control.contains(std::string(piece))) return;
    for (std::size_t cut = 1; cut < piece.size(); ++cut) {
      const std::int32_t left = model.pieces.find(piece.substr(0, cut)), right = model.pieces.find(piece.substr(cut));
      if (left != PieceTable::kNone && right != PieceTable::kNone) pairs.push_back({left, right, id});
    }
  });
  if (n_bytes_read > kMaxBytesRead) return parts.refuse("its pieces are too long", "model.vocab");
  model.merges = MergeTable(pairs.size());
  for (const Pair& pair : pairs) {
    model.merges.insert(pair.left, pair.right, {static_cast<std::uint32_t>(pair.joined), pair.joined});
  }
  return {};
}

/// Refuses options of a description that change the result and that BpeModel does not have: affixes of subwords and dropout.
Result<void> check_options(const WordModelParts& parts) {
  const Json& model = parts.description.model;
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const auto found = model.find(key);
    if (found != model.end() && found->is_string() && !found->get_ref<const std::string&>().empty()) {
      return parts.refuse(fmt::format("{} \"{}\" is not supported", key, printable_excerpt(found->get<std::string>())),
                          "model");
    }
  }
  const auto dropout = model.find("dropout");
  if (dropout != model.end() && dropout->is_number() && dropout->get<double>() != 0)
    return parts.refuse("dropout is not supported", "model");
  return {};
}

}  // namespace

Result<std::unique_ptr<WordModel>> make_bpe_word_model(const WordModelParts& parts) {
  LATHE_TRY_VOID(check_options(parts));
  const TokenizerDescription& description = parts.description;
  BpeModel model;
  model.byte_level = parts.byte_level;
  model.ignore_merges = flag_field(description.model, "ignore_merges", false);
  model.fuse_unk = flag_field(description.model, "fuse_unk", false);
  model.pieces = PieceTable(description.vocabulary.size());
  std::int32_t last = 0;
  for (const auto& [piece, id] : description.vocabulary) {
    last = std::max(last, id);
    if (const auto form = word_form(piece, model.byte_level)) model.pieces.insert(*form, id);
  }
  add_byte_ids(model, flag_field(description.model, "byte_fallback", false));
  LATHE_TRY_VOID(description.merges_by_id ? add_merges_by_id(parts, model) : add_listed_merges(parts, model));
  LATHE_TRY(model.unk_id, parts.id_of_named("unk_token"));
  // Control tokens are erased from the vocabulary, so that no text can spell them.
  for (const std::string& content : parts.control) model.pieces.erase(content);
  return std::make_unique<BpeWordModel>(std::move(model), static_cast<std::size_t>(last) + 1);
}

}  // namespace lathe::engine
