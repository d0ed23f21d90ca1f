// SPDX-License-Identifier: Apache-2.0
#include "engine/text/unigram.h"

#include <QTest>
#include <random>

#include "tests/support/test_class.h"

namespace unigram_test {

using namespace lathe::engine;

namespace {

TokenizerDescription description_of(const std::vector<std::pair<std::string, double>>& pieces) {
  TokenizerDescription description;
  description.model = {{"type", "Unigram"}, {"unk_id", 0}};
  for (const auto& [piece, score] : pieces) {
    description.vocabulary.emplace_back(piece, static_cast<std::int32_t>(description.scores.size()));
    description.scores.push_back(score);
  }
  return description;
}

std::vector<std::int32_t> encode(const TokenizerDescription& description, const std::string& word,
                                 const std::unordered_set<std::string>& control = {}) {
  const auto model = make_word_model({.description = description, .control = control});
  if (!model) return {-1};
  std::vector<std::int32_t> ids;
  EncodeBudget budget(word.size());
  const Words words{.text = word, .ranges = {{0, word.size()}}};
  return (*model)->encode(words, budget, ids) ? ids : std::vector{-2};
}

using Ids = std::vector<std::int32_t>;
const std::vector<std::pair<std::string, double>> kPieces = {{"<unk>", 0},  {"a", -3},    {"b", -3}, {"ab", -4},
                                                             {"abc", -9.5}, {"bc", -4.5}, {"c", -4}, {"\xC3\xA9", -2}};

/// The best sum of scores over every way to cut the word. Requires: letters a, b and c alone.
double best_by_definition(std::string_view word) {
  if (word.empty()) return 0;
  double best = -1e9;
  for (const auto& [piece, score] : kPieces) {
    if (word.starts_with(piece)) best = std::max(best, score + best_by_definition(word.substr(piece.size())));
  }
  return best;
}

}  // namespace

class UnigramTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_best_sum_wins() {
    QCOMPARE(encode(description_of(kPieces), "ab"), (Ids{3}));
    QCOMPARE(encode(description_of(kPieces), "abc"), (Ids{1, 5}));  // -7.5 before -8 and -9.5
    QCOMPARE(encode(description_of(kPieces), ""), Ids{});
  }
  /// With T5's scores "_" + "33" + "333" + "333" and "_" + "333" + "333" + "33" are one number in decimals. The tokenizers
  /// package 0.23.3 takes the latter, for it reads the scores with a last bit off.
  void equal_sums_are_told_apart_as_by_the_package() {
    const auto pieces = description_of(
        {{"<unk>", -30}, {"_", -9.358983039855957}, {"33", -10.83015251159668}, {"333", -12.790417671203613}});
    QCOMPARE(encode(pieces, "_33333333"), (Ids{1, 3, 3, 2}));
  }
  void no_way_to_cut_is_better() {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
      std::string word;
      for (unsigned n = random() % 10; n > 0; --n) word += static_cast<char>('a' + random() % 3);
      double sum = 0;
      for (const std::int32_t id : encode(description_of(kPieces), word))
        sum += kPieces[static_cast<std::size_t>(id)].second;
      QCOMPARE(sum, best_by_definition(word));
    }
  }
  void unknown_characters_side_by_side_are_one() {
    QCOMPARE(encode(description_of(kPieces),
                    "a\xE4\xB8\x96\xE7\x95\x8C"
                    "b!"),
             (Ids{1, 0, 2, 0}));
    QCOMPARE(encode(description_of(kPieces), "\xC3\xA9"), (Ids{7}));
  }
  void without_an_unknown_piece_they_vanish() {
    auto description = description_of(kPieces);
    description.model.erase("unk_id");
    QCOMPARE(encode(description, "a!b"), (Ids{1, 2}));
  }
  void bytes_stand_for_unknown_characters_where_all_are_there() {
    auto description = description_of({{"<unk>", 0}, {"a", -1}, {"<0xC3>", -9}, {"<0xA9>", -9}});
    QCOMPARE(encode(description, "a\xC3\xA9"), (Ids{1, 0}));
    description.model["byte_fallback"] = true;
    QCOMPARE(encode(description, "a\xC3\xA9"), (Ids{1, 2, 3}));
    QCOMPARE(encode(description, "a\xC3\xA8"), (Ids{1, 0}));
  }
  void T6_control_tokens_are_spelled_by_no_text() {
    const auto description = description_of({{"<unk>", 0}, {"</s>", 0}, {"<", -1}, {"/", -1}, {"s", -1}, {">", -1}});
    QCOMPARE(encode(description, "</s>"), (Ids{1}));
    QCOMPARE(encode(description, "</s>", {"</s>"}), (Ids{2, 3, 4, 5}));
  }
  void scores_must_be_there() {
    auto description = description_of(kPieces);
    description.scores.pop_back();
    QCOMPARE(encode(description, "a"), (Ids{-1}));
    description = description_of({{"a", std::numeric_limits<double>::quiet_NaN()}});
    QCOMPARE(encode(description, "a"), (Ids{-1}));
  }
};

LATHE_TEST(UnigramTest)

}  // namespace unigram_test
#include "unigram_test.moc"
