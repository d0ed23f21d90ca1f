// SPDX-License-Identifier: Apache-2.0
// R10 of ARCHITECTURE.md: the field's words. Names that the literature has a word for, comments that open with a fragment
// and words that say nothing are counted; the counts may only fall. Openings are counted in tests/ as well.
#include <QTest>
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/source_tree.h"
#include "tests/support/test_class.h"

namespace language_test {

namespace {

using lathe::tests::Comment;
using lathe::tests::comments_of;
using lathe::tests::join;
using lathe::tests::read_sources;
using lathe::tests::SourceFile;

/// Counts of today. A change that lowers one lowers its number here; at most kSlack may be left over.
constexpr int kOpenings = 0, kVagueWords = 10, kOldNames = 0, kWordsFiles = 0;
constexpr int kSlack = 12;

constexpr std::array<std::string_view, 8> kForbiddenOpenings = {"Of",    "What", "Those", "Whose",
                                                                "Which", "Who",  "Such",  "Whoever"};
constexpr std::array<std::string_view, 9> kVague = {"beside", "anew", "company", "whoever", "told",
                                                    "stand",  "lie",  "meet",    "stands"};
constexpr std::array<std::string_view, 2> kVagueThird = {"lies", "meets"};

/// Names for which ARCHITECTURE.md's glossary has the field's word.
constexpr std::array<std::string_view, 35> kOldIdentifiers = {"AttentionPlan",
                                                              "CacheRoom",
                                                              "CodeKind",
                                                              "FieldReader",
                                                              "KvLayout",
                                                              "Room",
                                                              "Seen",
                                                              "SweepOrder",
                                                              "Work",
                                                              "beside",
                                                              "bury",
                                                              "choice_bias",
                                                              "first_beside",
                                                              "first_of_",
                                                              "is_of_files_alone",
                                                              "is_of_latent_attention",
                                                              "kv_short",
                                                              "leave_what_cannot_be_rounded_to",
                                                              "meet",
                                                              "minned4",
                                                              "n_chosen",
                                                              "norms_hold_one",
                                                              "note",
                                                              "other4",
                                                              "parts4",
                                                              "parts_qkv",
                                                              "plain_dim",
                                                              "q_short",
                                                              "runs_on",
                                                              "settled_part",
                                                              "shared_switch",
                                                              "tell_waiting",
                                                              "turned_dim",
                                                              "turns_in_part",
                                                              "whole8_of_bytes"};

/// The files of the four levels.
const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = read_sources({"kernels", "engine", "app", "ui"});
  return files;
}

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Calls `visit` with each word of the text: letters, digits and underscores.
void for_each_word(std::string_view text, const std::function<void(std::string_view)>& visit) {
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > i) visit(text.substr(i, end - i));
    i = end + 1;
  }
}

bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string lower(std::string_view word) {
  std::string out(word);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string_view first_word(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(0, end);
}

bool opens_badly(std::string_view comment) {
  return is_one_of(kForbiddenOpenings, first_word(comment)) || comment.starts_with("That of ");
}

std::vector<std::string> bad_openings(const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (const Comment& comment : comments_of(file)) {
      if (opens_badly(comment.text)) found.push_back(file.path + ":" + std::to_string(comment.line) + " " + comment.text);
    }
  }
  return found;
}

std::vector<std::string> vague_words(const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for (const Comment& comment : comments_of(file)) {
      for_each_word(comment.text, [&](std::string_view word) {
        const std::string plain = lower(word);
        if (is_one_of(kVague, plain) || is_one_of(kVagueThird, plain))
          found.push_back(file.path + ":" + std::to_string(comment.line) + " \"" + plain + "\" in: " + comment.text);
      });
    }
  }
  return found;
}

std::vector<std::string> old_names(const std::vector<SourceFile>& files) {
  std::vector<std::string> found;
  for (const SourceFile& file : files) {
    for_each_word(lathe::tests::without_comments(file.text), [&](std::string_view word) {
      if (is_one_of(kOldIdentifiers, word)) found.push_back(file.path + " " + std::string(word));
    });
  }
  return found;
}

/// Holds a count to its limit, from above and, so that it cannot rise again, from below.
void hold(const std::vector<std::string>& found, int limit, const char* name) {
  const int n = static_cast<int>(found.size());
  QVERIFY2(n <= limit,
           (join(found) + std::to_string(n) + " found, " + std::to_string(limit) + " allowed by " + name).c_str());
  QVERIFY2(n + kSlack >= limit, (std::string(name) + " can be lowered to " + std::to_string(n)).c_str());
}

}  // namespace

class LanguageTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_scanner_finds_what_it_counts();
  void R10_comments_open_with_a_subject_or_a_verb();
  void R10_comments_have_few_vague_words();
  void R10_names_are_those_of_the_field();
  void R10_files_are_named_after_a_thing();
};

void LanguageTest::the_scanner_finds_what_it_counts() {
  const std::vector<SourceFile> files{{"x.cpp",
                                       "// Of the rows that are read.\n"
                                       "int f();  // What it is told stays; not counted, for code comes first\n"
                                       "/// That of a row lies beside it.\n"
                                       "/// Officers are no fragment, and neither is upstanding.\n"
                                       "const char* text = \"// Which\";\n"
                                       "int note(Work work);\n",
                                       {}}};
  QCOMPARE(bad_openings(files).size(), std::size_t{2});
  QCOMPARE(vague_words(files).size(), std::size_t{2});
  QCOMPARE(old_names(files).size(), std::size_t{2});
}

void LanguageTest::R10_comments_open_with_a_subject_or_a_verb() {
  hold(bad_openings(read_sources({"kernels", "engine", "app", "ui", "tests"})), kOpenings, "kOpenings");
}

void LanguageTest::R10_comments_have_few_vague_words() { hold(vague_words(sources()), kVagueWords, "kVagueWords"); }

void LanguageTest::R10_names_are_those_of_the_field() { hold(old_names(sources()), kOldNames, "kOldNames"); }

void LanguageTest::R10_files_are_named_after_a_thing() {
  std::vector<std::string> found;
  for (const SourceFile& file : sources()) {
    const std::string stem = file.path.substr(0, file.path.rfind('.'));
    if (stem.ends_with("_words")) found.push_back(file.path);
  }
  hold(found, kWordsFiles, "kWordsFiles");
}

LATHE_TEST(LanguageTest)

}  // namespace language_test
#include "language_test.moc"
