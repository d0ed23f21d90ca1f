// SPDX-License-Identifier: Apache-2.0
#include "engine/text/added_tokens.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace added_tokens_test {

using namespace lathe::engine;

namespace {

using Found = std::vector<std::array<std::size_t, 3>>;  // begin, end, id

Found find(const AddedTokenSet& set, std::string_view text, bool special_everywhere = true) {
  const TextRange whole{0, text.size()};
  Found out;
  for (const auto& match : set.find(text, std::span(&whole, special_everywhere ? 1 : 0))) {
    out.push_back({match.range.begin, match.range.end, static_cast<std::size_t>(match.id)});
  }
  return out;
}

}  // namespace

class AddedTokensTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void matches_are_leftmost_and_longest() {
    const AddedTokenSet set({{.id = 1, .content = "<a>"}, {.id = 2, .content = "<a><b>"}, {.id = 3, .content = "b>"}});
    QVERIFY((find(set, "x<a><b><a>") == Found{{1, 7, 2}, {7, 10, 1}}));
  }
  void a_set_may_move_and_be_copied() {
    auto first = std::make_unique<AddedTokenSet>(std::vector<AddedToken>{{.id = 1, .content = "<a>"}});
    const AddedTokenSet copy = *first;
    const AddedTokenSet moved = std::move(*first);
    first.reset();
    QVERIFY((find(copy, "x<a>") == Found{{1, 4, 1}}));
    QVERIFY((find(moved, "x<a>") == Found{{1, 4, 1}}));
  }
  void a_match_that_is_denied_hides_what_begins_inside_it() {
    const AddedTokenSet special(
        {{.id = 1, .content = "<a"}, {.id = 2, .content = "<a>", .special = true}, {.id = 3, .content = ">"}});
    QVERIFY((find(special, "<a>>", false) == Found{{3, 4, 3}}));
    const AddedTokenSet words(
        {{.id = 1, .content = "cat", .single_word = true}, {.id = 2, .content = "at"}, {.id = 3, .content = "ca"}});
    QVERIFY((find(words, "xcat cat cab") == Found{{5, 8, 1}, {9, 11, 3}}));
  }
  void special_tokens_need_a_place_that_allows_them() {
    const AddedTokenSet set({{.id = 1, .content = "<s>", .special = true}, {.id = 2, .content = "<t>"}});
    QVERIFY((find(set, "<s><t>", false) == Found{{3, 6, 2}}));
    QVERIFY((find(set, "<s><t>", true) == Found{{0, 3, 1}, {3, 6, 2}}));
  }
  void a_special_token_must_lie_inside_one_allowed_range() {
    const AddedTokenSet set({{.id = 1, .content = "<s>", .special = true}});
    const std::vector<TextRange> ranges = {{0, 2}, {3, 7}};
    const auto matches = set.find("<s><s><s>", ranges);
    QCOMPARE(matches.size(), std::size_t{1});
    QCOMPARE(matches[0].range.begin, std::size_t{3});
  }
  void a_special_token_across_the_end_of_a_range_hides_nothing() {
    const AddedTokenSet set({{.id = 1, .content = "<a><b>", .special = true}, {.id = 2, .content = "<a>"}});
    const std::vector<TextRange> second_half = {{3, 6}};
    const auto matches = set.find("<a><b>", second_half);
    QCOMPARE(matches.size(), std::size_t{1});
    QCOMPARE(matches[0].id, 2);
  }
  void a_token_may_begin_in_white_space_that_another_took() {
    const AddedTokenSet set(
        {{.id = 1, .content = "<a>", .rstrip = true}, {.id = 2, .content = " b"}, {.id = 3, .content = "  "}});
    QVERIFY((find(set, "<a> b") == Found{{0, 4, 1}, {3, 5, 2}}));
    QVERIFY((find(set, "<a>   b") == Found{{0, 6, 1}, {3, 5, 3}, {5, 7, 2}}));
    const AddedTokenSet blanks({{.id = 1, .content = "  ", .lstrip = true, .rstrip = true}});
    QVERIFY((find(blanks, "a      ") == Found{{1, 7, 1}}));
  }
  void white_space_is_taken_along() {
    const AddedTokenSet set({{.id = 1, .content = "<m>", .lstrip = true}, {.id = 2, .content = "<e>", .rstrip = true}});
    QVERIFY((find(set, "a  <m> b<e>\n\xC2\xA0 c") == Found{{1, 6, 1}, {8, 15, 2}}));
  }
  void white_space_before_is_not_taken_twice() {
    const AddedTokenSet set({{.id = 1, .content = "<m>", .lstrip = true}, {.id = 2, .content = "<e>", .rstrip = true}});
    QVERIFY((find(set, "<e>  <m>") == Found{{0, 5, 2}, {5, 8, 1}}));
  }
  void a_single_word_does_not_match_inside_one() {
    const AddedTokenSet set({{.id = 1, .content = "word", .single_word = true}});
    QVERIFY((find(set, "sword words word, \xC3\xA9word word") == Found{{12, 16, 1}, {25, 29, 1}}));
    // Marks, digits, connectors and joiners belong to words, signs do not.
    for (const char* after : {"\xCC\x81", "\xE0\xA4\x83", "1", "_", "\xE2\x80\xBF", "\xE2\x80\x8D"})
      QVERIFY2(find(set, std::string("word") + after).empty(), after);
    for (const char* after : {"-", "\xC2\xBD", "\xE2\x91\xA0", "\xE2\x80\x8B", "\xF0\x9F\x98\x80"})
      QCOMPARE(find(set, std::string("word") + after).size(), std::size_t{1});
  }
  void empty_contents_are_dropped() { QVERIFY(find(AddedTokenSet({{.id = 1, .content = ""}}), "abc").empty()); }
  void nothing_to_find_gives_nothing() {
    QVERIFY(find(AddedTokenSet(), "<s>").empty());
    QVERIFY(find(AddedTokenSet({{.id = 1, .content = "<s>"}}), "").empty());
  }
};

LATHE_TEST(AddedTokensTest)

}  // namespace added_tokens_test
#include "added_tokens_test.moc"
