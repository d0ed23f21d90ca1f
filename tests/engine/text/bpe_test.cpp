// SPDX-License-Identifier: Apache-2.0
#include "engine/text/bpe.h"

#include <QTest>
#include <map>
#include <random>

#include "engine/text/byte_alphabet.h"
#include "tests/support/test_class.h"

namespace bpe_test {

using namespace lathe::engine;

namespace {

/// A model over single characters and the merges given, in order.
BpeModel model_of(const std::string& alphabet, const std::vector<std::pair<std::string, std::string>>& merges) {
  BpeModel model;
  std::int32_t next = 0;
  for (const char c : alphabet) model.pieces.insert(std::string(1, c), next++);
  for (const auto& [left, right] : merges) {
    if (model.pieces.insert(left + right, next)) ++next;
  }
  model.merges = MergeTable(merges.size());
  std::uint32_t rank = 0;
  for (const auto& [left, right] : merges)
    model.merges.insert(model.pieces.find(left), model.pieces.find(right), {rank++, model.pieces.find(left + right)});
  return model;
}

std::vector<std::int32_t> encode(const BpeModel& model, std::string_view word) {
  BpeScratch scratch;
  std::vector<std::int32_t> ids;
  encode_word(model, word, scratch, ids);
  return ids;
}

/// The definition: merge the leftmost pair of lowest rank until none merges.
std::vector<std::int32_t> encode_by_definition(const BpeModel& model, std::string_view word) {
  std::vector<std::int32_t> ids;
  for (const char c : word) ids.push_back(model.pieces.find({&c, 1}));
  while (true) {
    std::size_t best = ids.size();
    MergeTable::Merge merge;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = model.merges.find(ids[i], ids[i + 1]);
      if (found.rank < merge.rank) {
        merge = found;
        best = i;
      }
    }
    if (best == ids.size()) return ids;
    ids[best] = merge.id;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

const std::vector<std::pair<std::string, std::string>> kMerges = {
    {"a", "b"}, {"c", "a"}, {"ab", "c"}, {"b", "b"}, {"a", "a"}, {"ab", "ab"}, {"aa", "bb"}, {"c", "c"}, {"abc", "ca"}};

}  // namespace

class BpeTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_lowest_rank_merges_first() {
    const BpeModel model = model_of("abc", {{"b", "c"}, {"a", "b"}});
    QVERIFY((encode(model, "abc") == std::vector<std::int32_t>{0, 3}));
  }
  void of_equal_ranks_the_leftmost_merges_first() {
    const BpeModel model = model_of("a", {{"a", "a"}});
    QVERIFY((encode(model, "aaa") == std::vector<std::int32_t>{1, 0}));
  }
  void short_and_long_words_follow_the_definition() {
    const BpeModel model = model_of("abc", kMerges);
    std::mt19937 generator(3);
    for (int round = 0; round < 500; ++round) {
      std::string word(1 + generator() % 90, 'a');  // on both sides of the scan's bound
      for (char& c : word) c = static_cast<char>('a' + generator() % 3);
      QVERIFY(encode(model, word) == encode_by_definition(model, word));
    }
  }
  void L17_a_very_long_word_is_no_problem() {
    const BpeModel model = model_of("abc", kMerges);
    std::string word;
    for (int i = 0; i < 300'000; ++i) word += static_cast<char>('a' + (i * 7) % 3);
    QVERIFY(!encode(model, word).empty());
    QVERIFY(!encode(model, std::string(300'000, 'a')).empty());
  }
  void an_empty_word_has_no_ids() { QVERIFY(encode(model_of("a", {}), "").empty()); }
  void unknown_characters_become_unk() {
    BpeModel model = model_of("au", {});
    QVERIFY((encode(model, "axa") == std::vector<std::int32_t>{0, 0}));
    model.unk_id = 1;
    QVERIFY((encode(model, "axya") == std::vector<std::int32_t>{0, 1, 1, 0}));
    model.fuse_unk = true;
    QVERIFY((encode(model, "axyaz") == std::vector<std::int32_t>{0, 1, 0, 1}));
  }
  void unknown_characters_fall_back_to_bytes() {
    BpeModel model = model_of("a", {});
    model.unk_id = 0;
    model.byte_ids.assign(256, -1);
    for (int byte = 0; byte < 256; ++byte) model.byte_ids[static_cast<std::size_t>(byte)] = 100 + byte;
    QVERIFY((encode(model,
                    "\xC3\xA9"
                    "a") == std::vector<std::int32_t>{100 + 0xC3, 100 + 0xA9, 0}));
  }
  void a_byte_without_a_piece_makes_the_character_unknown() {
    BpeModel model = model_of("au", {});
    model.unk_id = 1;
    model.byte_ids.assign(256, -1);
    model.byte_ids[0xC3] = 50;
    QVERIFY((encode(model,
                    "\xC3\xA9"
                    "a") == std::vector<std::int32_t>{1, 0}));
  }
  void whole_pieces_win_when_merges_are_ignored() {
    BpeModel model = model_of("abc", {{"b", "c"}, {"a", "b"}});
    model.pieces.insert("abc", 9);
    QVERIFY((encode(model, "abc") == std::vector<std::int32_t>{0, 3}));
    model.ignore_merges = true;
    QVERIFY((encode(model, "abc") == std::vector<std::int32_t>{9}));
    QVERIFY((encode(model, "abcc") == std::vector<std::int32_t>{0, 3, 2}));
  }
  void the_merge_table_finds_what_was_put_in() {
    MergeTable table(1000);
    for (std::int32_t i = 0; i < 1000; ++i) QVERIFY(table.insert(i, i * 31 % 97, {static_cast<std::uint32_t>(i), i + 5}));
    for (std::int32_t i = 0; i < 1000; ++i) {
      QCOMPARE(table.find(i, i * 31 % 97).rank, static_cast<std::uint32_t>(i));
      QCOMPARE(table.find(i, i * 31 % 97).id, i + 5);
      QCOMPARE(table.find(i, 98).rank, MergeTable::kNone);
    }
    QVERIFY(!table.insert(0, 0, {7, 7}));
    QCOMPARE(MergeTable().find(0, 0).rank, MergeTable::kNone);
  }
  void the_byte_alphabet_covers_all_bytes() {
    QCOMPARE(bytes_of_alphabet("\xC4\xA0hello").value(), std::string(" hello"));
    QCOMPARE(bytes_of_alphabet("\xC4\x8A").value(), std::string("\n"));
    QCOMPARE(bytes_of_alphabet("\xC4\x80").value(), std::string(1, '\0'));
    QCOMPARE(bytes_of_alphabet("\xC3\x83\xC2\xA9").value(), std::string("\xC3\xA9"));
    QVERIFY(!bytes_of_alphabet("a b").has_value());
    QVERIFY(!bytes_of_alphabet("\xE2\x96\x81").has_value());
    QVERIFY(!bytes_of_alphabet("\xFF").has_value());
  }
};

LATHE_TEST(BpeTest)

}  // namespace bpe_test
#include "bpe_test.moc"
