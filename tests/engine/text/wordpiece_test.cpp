// SPDX-License-Identifier: Apache-2.0
#include "engine/text/wordpiece.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace wordpiece_test {

using namespace lathe::engine;

namespace {

using Ids = std::vector<std::int32_t>;

TokenizerDescription description_of(const std::vector<std::string>& pieces) {
  TokenizerDescription description;
  description.model = {{"type", "WordPiece"}, {"unk_token", "[UNK]"}};
  for (const std::string& piece : pieces) {
    description.vocabulary.emplace_back(piece, static_cast<std::int32_t>(description.vocabulary.size()));
  }
  return description;
}

Ids encode(const TokenizerDescription& description, const std::string& word,
           const std::unordered_set<std::string>& control = {}) {
  const auto model = make_word_model({.description = description, .control = control});
  if (!model) return {-1};
  Ids ids;
  EncodeBudget budget(word.size());
  const Words words{.text = word, .ranges = {{0, word.size()}}};
  return (*model)->encode(words, budget, ids) ? ids : Ids{-2};
}

const std::vector<std::string> kPieces = {"[UNK]", "un", "##aff", "##able",   "##ab",
                                          "##le",  "a",  "##",    "\xC3\xA9", "##\xC3\xA9"};

}  // namespace

class WordPieceTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_longest_piece_goes_first() {
    QCOMPARE(encode(description_of(kPieces), "unaffable"), (Ids{1, 2, 3}));
    QCOMPARE(encode(description_of(kPieces), "aable"), (Ids{6, 3}));
    QCOMPARE(encode(description_of(kPieces), "a\xC3\xA9\xC3\xA9"), (Ids{6, 9, 9}));
  }
  void a_word_that_cannot_be_cut_is_unknown_as_a_whole() {
    QCOMPARE(encode(description_of(kPieces), "unaffablex"), (Ids{0}));
    QCOMPARE(encode(description_of(kPieces), "aff"), (Ids{0}));
  }
  void long_words_are_unknown() {
    auto description = description_of({"[UNK]", "\xC3\xA9", "##\xC3\xA9"});
    std::string word;
    for (int i = 0; i < 100; ++i) word += "\xC3\xA9";
    QCOMPARE(encode(description, word).size(), std::size_t{100});  // characters are counted, not bytes
    QCOMPARE(encode(description, word + "\xC3\xA9"), (Ids{0}));
    description.model["max_input_chars_per_word"] = 1;
    QCOMPARE(encode(description, "\xC3\xA9\xC3\xA9"), (Ids{0}));
  }
  void the_prefix_may_be_another() {
    auto description = description_of({"[UNK]", "a", "__b"});
    description.model["continuing_subword_prefix"] = "__";
    QCOMPARE(encode(description, "ab"), (Ids{1, 2}));
  }
  void without_pieces_that_go_on_words_are_pieces() {
    QCOMPARE(encode(description_of({"[UNK]", "a", "b"}), "ab"), (Ids{0}));
    QCOMPARE(encode(description_of({"[UNK]", "a", "b"}), "b"), (Ids{2}));
  }
  void T6_control_tokens_are_spelled_by_no_text() {
    const auto description = description_of({"[UNK]", "[CLS]", "[", "##CLS", "##]"});
    QCOMPARE(encode(description, "[CLS]"), (Ids{1}));
    QCOMPARE(encode(description, "[CLS]", {"[CLS]"}), (Ids{2, 3, 4}));
  }
};

LATHE_TEST(WordPieceTest)

}  // namespace wordpiece_test
#include "wordpiece_test.moc"
