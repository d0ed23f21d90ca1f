// SPDX-License-Identifier: Apache-2.0
#include "engine/text/detokenizer.h"

#include <QTest>

#include "engine/base/utf8.h"
#include "tests/support/test_class.h"

namespace detokenizer_test {

using namespace lathe::engine;

namespace {

/// Tokens are the given bytes; the last is a control token.
class PieceTokenizer final : public Tokenizer {
 public:
  explicit PieceTokenizer(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  std::string_view kind() const override { return "pieces"; }
  std::int32_t vocab_size() const override { return static_cast<std::int32_t>(pieces_.size()) + 1; }
  std::optional<std::int32_t> bos_id() const override { return std::nullopt; }
  const std::vector<std::int32_t>& eos_ids() const override { return eos_; }
  bool adds_bos() const override { return false; }
  bool is_special(std::int32_t id) const override { return id == control(); }
  std::optional<std::int32_t> id_of(std::string_view) const override { return std::nullopt; }
  std::string piece(std::int32_t id) const override { return decode_bytes(id, false); }
  Result<std::vector<std::int32_t>> encode(std::string_view, bool, bool) const override { return {}; }
  Result<std::vector<std::int32_t>> encode_spans(std::span<const TextSpan>) const override { return {}; }
  std::string decode(std::span<const std::int32_t>, bool) const override { return {}; }
  std::string decode_bytes(std::int32_t id, bool first) const override {
    if (id == control()) return "<end>";
    const std::string& bytes = pieces_[static_cast<std::size_t>(id)];
    return first && bytes.starts_with(' ') ? bytes.substr(1) : bytes;
  }
  std::int32_t control() const { return static_cast<std::int32_t>(pieces_.size()); }

 private:
  std::vector<std::string> pieces_;
  std::vector<std::int32_t> eos_;
};

struct Answer {
  std::vector<std::string> deltas;
  int stop = -1;
  std::string text() const {
    std::string all;
    for (const std::string& delta : deltas) all += delta;
    return all;
  }
};

/// Pushes all pieces in order, then flushes.
Answer detokenize(const std::vector<std::string>& pieces, const std::vector<std::string>& stop = {}, bool include = false) {
  const PieceTokenizer tokenizer(pieces);
  Detokenizer detokenizer(tokenizer, stop, include, true);
  Answer answer;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const int matched = detokenizer.push(static_cast<std::int32_t>(i), answer.deltas.emplace_back());
    if (matched >= 0) answer.stop = matched;
  }
  detokenizer.flush(answer.deltas.emplace_back());
  return answer;
}

}  // namespace

class DetokenizerTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void text_comes_out_at_once_without_stop_strings() {
    const Answer answer = detokenize({"Hel", "lo", " wor", "ld"});
    QVERIFY((answer.deltas == std::vector<std::string>{"Hel", "lo", " wor", "ld", ""}));
  }
  void an_answer_keeps_its_leading_space() { QCOMPARE(detokenize({" Hello"}).text(), std::string(" Hello")); }
  void half_a_character_waits_for_the_rest() {
    const Answer answer = detokenize({"\xF0\x9F", "\xA6", "\x99!"});
    QVERIFY((answer.deltas == std::vector<std::string>{"", "", "\xF0\x9F\xA6\x99!", ""}));
  }
  void a_broken_tail_is_replaced_at_the_end() { QCOMPARE(detokenize({"a\xE2\x82"}).text(), std::string("a\xEF\xBF\xBD")); }
  void broken_bytes_in_the_middle_are_replaced() {
    const Answer answer = detokenize({"a\xE2", "b\xFF", "c"});
    QCOMPARE(answer.text(), std::string("a\xEF\xBF\xBD"
                                        "b\xEF\xBF\xBD"
                                        "c"));
  }
  /// Before each token: what text_offset says of it.
  void characters_are_counted_as_they_become_whole() {
    const std::vector<std::string> pieces = {"h\xC3\xA9", "\xF0\x9F", "\xA6\x99", " x", "\xFF", "\xE2"};
    const PieceTokenizer tokenizer(pieces);
    Detokenizer detokenizer(tokenizer, {}, false, true);
    std::string text;
    std::vector<std::int64_t> offsets;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      offsets.push_back(detokenizer.n_characters());
      detokenizer.push(static_cast<std::int32_t>(i), text);
      detokenizer.push(tokenizer.control(), text);  // without text
    }
    QVERIFY((offsets == std::vector<std::int64_t>{0, 2, 2, 3, 5, 6}));
    detokenizer.flush(text);
    QCOMPARE(detokenizer.n_characters(), std::int64_t{7});
    QCOMPARE(QString::fromStdString(text).toUcs4().size(), 7);
  }
  void characters_that_a_stop_string_cuts_do_not_count() {
    for (const bool include : {false, true}) {
      const std::vector<std::string> pieces = {"ab", "c\xC3\xA9", "d", "e"}, stop = {
                                                                                 "c\xC3\xA9"
                                                                                 "d"};
      const PieceTokenizer tokenizer(pieces);
      Detokenizer detokenizer(tokenizer, stop, include, true);
      std::string text;
      for (std::int32_t id = 0; id < 4; ++id) detokenizer.push(id, text);
      QCOMPARE(detokenizer.n_characters(), std::int64_t{include ? 5 : 2});
      QCOMPARE(text, std::string(include ? "abc\xC3\xA9"
                                           "d"
                                         : "ab"));
    }
  }
  void every_delta_is_complete_utf8() {
    const std::string text = "h\xC3\xA9 \xE2\x82\xAC \xF0\x9F\xA6\x99\xFF.";
    for (std::size_t size = 1; size < 5; ++size) {
      std::vector<std::string> pieces;
      for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
      const Answer answer = detokenize(pieces, {"zz"});
      for (const std::string& delta : answer.deltas) QVERIFY(is_valid_utf8(delta));
      QCOMPARE(answer.text(), repaired_utf8(text));
    }
  }
  void control_tokens_are_left_out_or_shown() {
    const PieceTokenizer tokenizer({"a"});
    for (const bool skip : {true, false}) {
      Detokenizer detokenizer(tokenizer, {}, false, skip);
      std::string text;
      detokenizer.push(0, text);
      detokenizer.push(tokenizer.control(), text);
      detokenizer.push(0, text);
      QCOMPARE(text, std::string(skip ? "aa" : "a<end>a"));
    }
  }
  void S7_the_stop_string_is_cut_out() {
    const Answer answer = detokenize({"Hello", " STOP", " more"}, {"STOP"});
    QCOMPARE(answer.stop, 0);
    QCOMPARE(answer.text(), std::string("Hello "));
  }
  void S7_the_stop_string_is_kept_when_asked() {
    QCOMPARE(detokenize({"Hello", " STOP and", " more"}, {"STOP"}, true).text(), std::string("Hello STOP"));
  }
  void S7_a_stop_string_may_span_tokens() {
    const Answer answer = detokenize({"x\n", "\nUs", "er", ": hi"}, {"\n\nUser:"});
    QCOMPARE(answer.text(), std::string("x"));
    QCOMPARE(answer.stop, 0);
  }
  void S7_a_stop_string_may_span_a_cut_character() {
    const Answer answer = detokenize({"a\xE2\x82", "\xAC", "b"}, {"\xE2\x82\xAC"});
    QCOMPARE(answer.text(), std::string("a"));
    QCOMPARE(answer.stop, 0);
  }
  void S7_the_first_token_may_be_the_stop() {
    const Answer answer = detokenize({"###", " x"}, {"###"});
    QCOMPARE(answer.text(), std::string());
    QCOMPARE(answer.stop, 0);
  }
  void S7_what_may_begin_a_stop_string_is_held_back() {
    const Answer answer = detokenize({"a#", "#b", "c"}, {"###"});
    QVERIFY((answer.deltas == std::vector<std::string>{"a", "##b", "c", ""}));
  }
  void S7_what_was_held_back_comes_at_the_end() {
    const Answer answer = detokenize({"a##"}, {"###"});
    QVERIFY((answer.deltas == std::vector<std::string>{"a", "##"}));
  }
  void S7_overlapping_beginnings_are_found() {
    QCOMPARE(detokenize({"aa", "a", "b!"}, {"aab"}).text(), std::string("a"));
    QCOMPARE(detokenize({"abab", "ac"}, {"abac"}).text(), std::string("ab"));
  }
  void S7_the_stop_string_that_ends_first_counts() {
    const Answer answer = detokenize({"xabcx"}, {"abc", "b"});
    QCOMPARE(answer.stop, 1);
    QCOMPARE(answer.text(), std::string("xa"));
  }
  void S7_of_those_that_end_together_the_longest_counts() {
    const Answer answer = detokenize({"xabcx"}, {"c", "abc", "bc"});
    QCOMPARE(answer.stop, 1);
    QCOMPARE(answer.text(), std::string("x"));
  }
  void S7_the_cut_does_not_depend_on_the_tokens() {
    const std::string text = "one two\n\nthree END four";
    const std::vector<std::string> stop = {"END", "\n\nq", "ee E"};
    const std::string whole = detokenize({text}, stop).text();
    for (std::size_t size = 1; size < text.size(); ++size) {
      std::vector<std::string> pieces;
      for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
      QCOMPARE(detokenize(pieces, stop).text(), whole);
    }
  }
  /// The control token is shown because it is watched, and a character never goes on behind it.
  void watched_tokens_are_shown_and_marked() {
    const PieceTokenizer tokenizer({"a<end>", "\xC3", "b"});
    const std::vector<AnswerMarker> watched = {{2, "b", false, true}, {tokenizer.control(), "<end>", true, false}};
    Detokenizer detokenizer(tokenizer, {}, false, true, watched);
    std::string text;
    std::vector<TextMark> marks;
    for (const std::int32_t id : {0, 1, tokenizer.control(), 2, tokenizer.control()})
      detokenizer.push(id, text, true, &marks);
    QCOMPARE(text, std::string("a<end>\xEF\xBF\xBD<end>b<end>"));
    QCOMPARE(marks.size(), std::size_t(3));
    for (const TextMark& mark : marks) QVERIFY(text.substr(mark.at).starts_with(mark.id == 2 ? "b" : "<end>"));
    QVERIFY(marks[0].at == 9 && marks[1].at == 14 && marks[2].at == 15);
  }
  void nothing_comes_after_a_stop() {
    const PieceTokenizer tokenizer({"stop", "more"});
    const std::vector<std::string> stop = {"stop"};
    Detokenizer detokenizer(tokenizer, stop, false, true);
    std::string text;
    QCOMPARE(detokenizer.push(0, text), 0);
    QCOMPARE(detokenizer.push(1, text), -1);
    detokenizer.flush(text);
    QVERIFY(text.empty());
  }
};

LATHE_TEST(DetokenizerTest)

}  // namespace detokenizer_test
#include "detokenizer_test.moc"
