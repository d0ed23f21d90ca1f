// SPDX-License-Identifier: Apache-2.0
#include "engine/text/unigram.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "engine/base/utf8.h"
#include "engine/text/json_field.h"
#include "engine/text/piece_trie.h"

namespace lathe::engine {
namespace {

constexpr double kUnknownPenalty = 10;  // kUnkPenalty of sentencepiece
// Memory: 16 bytes for each byte of a word; without a pre-tokenizer the word is the whole text.
constexpr std::size_t kMaxWordBytes = 64u << 20;
constexpr std::size_t kCharactersPerLook = 64;

class Unigram final : public WordModel {
 public:
  struct Parts {
    PieceTrie trie;
    std::vector<double> scores;                ///< by id
    std::array<std::int32_t, 256> byte_ids{};  ///< -1: the byte has no fallback
    std::int32_t unk_id = -1;
    double unk_score = 0;
  };
  explicit Unigram(Parts parts) : parts_(std::move(parts)) {}

  std::string_view kind() const override { return "unigram"; }
  bool keeps_bytes() const override { return has_all_bytes(); }
  Result<void> encode(const Words& words, EncodeBudget& budget, std::vector<std::int32_t>& ids) const override {
    std::vector<Cut> cuts;
    std::vector<Piece> pieces;
    for (const TextRange word : words.ranges) {
      const auto text = std::string_view(words.text).substr(word.begin, word.end - word.begin);
      if (text.size() > kMaxWordBytes) {
        return fail(ErrorCode::too_large, fmt::format("a word of {} bytes, at most {}", text.size(), kMaxWordBytes),
                    "tokenizer");
      }
      LATHE_TRY_VOID(find_best(text, budget, cuts));
      collect(text, cuts, pieces);
      for (const Piece& piece : pieces) append(piece, ids);
    }
    return {};
  }

 private:
  /// The best segmentation of the bytes before an index, stored as its last piece.
  struct Cut {
    double score = 0;
    std::int32_t id = PieceTrie::kNone;
    std::uint32_t size = 0;  ///< bytes of the last piece; 0: no segmentation exists
  };
  struct Piece {
    std::string_view text;
    std::int32_t id = 0;
  };

  bool has_all_bytes() const {
    return std::all_of(parts_.byte_ids.begin(), parts_.byte_ids.end(), [](std::int32_t id) { return id >= 0; });
  }

  static void offer(Cut& cut, double score, std::int32_t id, std::size_t size) {
    if (cut.size == 0 || score > cut.score) cut = {score, id, static_cast<std::uint32_t>(size)};
  }

  Result<void> find_best(std::string_view word, EncodeBudget& budget, std::vector<Cut>& cuts) const {
    cuts.assign(word.size() + 1, {});
    std::size_t n_characters = 0;
    for (std::size_t at = 0; at < word.size();) {
      if (++n_characters % kCharactersPerLook == 0) LATHE_TRY_VOID(budget.check_time());
      const std::size_t size = read_utf8(word, at).size;
      const double so_far = cuts[at].score;
      bool has_single = false;
      std::int32_t node = PieceTrie::kRoot;
      for (std::size_t end = at; end < word.size();) {
        node = parts_.trie.next(node, word[end++]);
        if (node == PieceTrie::kNone) break;
        const std::int32_t id = parts_.trie.id(node);
        if (id == PieceTrie::kNone) continue;
        offer(cuts[end], so_far + parts_.scores[static_cast<std::size_t>(id)], id, end - at);
        has_single = has_single || end - at == size;
      }
      if (!has_single) offer(cuts[at + size], so_far + parts_.unk_score, parts_.unk_id, size);
      at += size;
    }
    return {};
  }

  /// Collects the pieces of the best segmentation in order; adjacent unknown pieces become one.
  void collect(std::string_view word, const std::vector<Cut>& cuts, std::vector<Piece>& pieces) const {
    pieces.clear();
    for (std::size_t end = word.size(); end > 0; end -= cuts[end].size) {
      const std::string_view text = word.substr(end - cuts[end].size, cuts[end].size);
      const std::int32_t id = cuts[end].id;
      if (id == parts_.unk_id && !pieces.empty() && pieces.back().id == parts_.unk_id) {
        pieces.back().text = {text.data(), text.size() + pieces.back().text.size()};
      } else {
        pieces.push_back({text, id});
      }
    }
    std::reverse(pieces.begin(), pieces.end());
  }

  void append(const Piece& piece, std::vector<std::int32_t>& ids) const {
    if (piece.id != parts_.unk_id) return ids.push_back(piece.id);
    const bool has_bytes = std::all_of(piece.text.begin(), piece.text.end(), [&](char c) { return byte_id(c) >= 0; });
    if (has_bytes) {
      for (const char c : piece.text) ids.push_back(byte_id(c));
    } else if (parts_.unk_id >= 0) {
      ids.push_back(parts_.unk_id);
    }
  }
  std::int32_t byte_id(char c) const { return parts_.byte_ids[static_cast<unsigned char>(c)]; }

  Parts parts_;
};

/// Returns 10 to the power of `exponent` (at most 308), rounded once.
double power_of_ten(int exponent) {
  const std::string text = fmt::format("1e{}", exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

/// Returns the value that the tokenizers package reads from the shortest decimal form of `score`. Its serde_json rounds the
/// digits and divides them by a power of ten, so a third of T5's scores differ in the last bit. This decides between
/// segmentations of equal score, such as "33" + "333" and "333" + "33".
double as_serde_json_reads(double score) {
  std::array<char, 32> text{};
  const char* const end = std::to_chars(text.begin(), text.end(), std::abs(score), std::chars_format::scientific).ptr;
  const char* const mark = std::find(static_cast<const char*>(text.begin()), end, 'e');
  std::uint64_t digits = 0;
  for (const char* at = text.begin(); at != mark; ++at) {
    if (*at != '.') digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
  }
  int exponent = 0;
  std::from_chars(mark[1] == '+' ? mark + 2 : mark + 1, end, exponent);
  exponent -= std::max(0, static_cast<int>(mark - text.begin()) - 2);  // digits after the point
  if (std::abs(exponent) > std::numeric_limits<double>::max_exponent10) return score;
  const double power = power_of_ten(std::abs(exponent));
  const double read = exponent < 0 ? static_cast<double>(digits) / power : static_cast<double>(digits) * power;
  return std::copysign(read, score);
}

/// Reads the scores by id and returns the lowest.
Result<double> read_scores(const WordModelParts& parts, std::vector<double>& scores) {
  double lowest = std::numeric_limits<double>::max();
  const auto& vocabulary = parts.description.vocabulary;
  if (parts.description.scores.size() != vocabulary.size())
    return parts.refuse("must have a score for each piece", "model.vocab");
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    if (!std::isfinite(parts.description.scores[i]))
      return parts.refuse(fmt::format("the score of piece {} is not a number", i), "model.vocab");
    const double score = as_serde_json_reads(parts.description.scores[i]);
    const auto id = static_cast<std::size_t>(vocabulary[i].second);
    if (id >= scores.size()) scores.resize(id + 1);
    scores[id] = score;
    lowest = std::min(lowest, score);
  }
  return lowest;
}

}  // namespace

Result<std::unique_ptr<WordModel>> make_unigram(const WordModelParts& parts) {
  if (parts.byte_level) return parts.refuse("Unigram over bytes is not supported", "model.type");
  Unigram::Parts made;
  LATHE_TRY(const double lowest, read_scores(parts, made.scores));
  made.unk_score = lowest - kUnknownPenalty;
  LATHE_TRY(const std::int64_t unk, parts.number("unk_id", -1, std::numeric_limits<std::int32_t>::max()));
  if (unk >= static_cast<std::int64_t>(made.scores.size())) {
    return parts.refuse(fmt::format("{} is beyond the {} pieces", unk, made.scores.size()), "model.unk_id");
  }
  made.unk_id = static_cast<std::int32_t>(unk);
  made.byte_ids.fill(-1);
  std::size_t n_bytes = 0;
  for (const auto& [piece, id] : parts.description.vocabulary) n_bytes += piece.size();
  if (n_bytes > PieceTrie::kMaxBytes) {
    return parts.refuse(fmt::format("pieces of {} bytes together, at most {}", n_bytes, PieceTrie::kMaxBytes),
                        "model.vocab");
  }
  made.trie = PieceTrie(n_bytes);
  for (const auto& [piece, id] : parts.description.vocabulary) {
    if (!piece.empty() && id != made.unk_id && !parts.control.contains(piece)) made.trie.insert(piece, id);
  }
  if (flag_field(parts.description.model, "byte_fallback", false)) {
    for (int byte = 0; byte < 256; ++byte) {
      const std::int32_t node = made.trie.next(PieceTrie::kRoot, fmt::format("<0x{:02X}>", byte));
      made.byte_ids[static_cast<std::size_t>(byte)] = made.trie.id(node);
    }
  }
  return std::make_unique<Unigram>(std::move(made));
}

}  // namespace lathe::engine
