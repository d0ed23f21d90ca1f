// SPDX-License-Identifier: Apache-2.0
// Offsets of a prompt's tokens in its text, with vocabularies that add a space before a text and that do not.
#include "app/server/generate/token_offsets.h"

#include <QtTest>

#include "tests/support/byte_tokenizer.h"
#include "tests/support/test_class.h"

namespace token_offsets_test {

using namespace lathe;
using app::token_offsets;
using app::TokenOffset;

namespace {

std::vector<std::size_t> offsets_of(const std::vector<TokenOffset>& tokens) {
  std::vector<std::size_t> offsets;
  for (const TokenOffset& token : tokens) offsets.push_back(token.offset);
  return offsets;
}

using Offsets = std::vector<std::size_t>;

}  // namespace

class TokenOffsetsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_token_that_is_not_in_the_text_has_the_next_offset() {
    const tests::ByteTokenizer tokenizer;
    QCOMPARE(offsets_of(token_offsets(tokenizer, {256, 'a', 'b', 257}, "ab")), (Offsets{0, 0, 1, 2}));
  }
  void a_control_token_that_is_written_out_counts() {
    const tests::ByteTokenizer tokenizer;
    QCOMPARE(offsets_of(token_offsets(tokenizer, {256, 258, 'a', 262, 'b'}, "<|user|>a<|end|>b")),
             (Offsets{0, 0, 8, 9, 16}));
  }
  void parts_of_a_character_have_its_begin() {
    const tests::ByteTokenizer tokenizer;
    QCOMPARE(offsets_of(token_offsets(tokenizer, {'a', 0xE9, 0x9B, 0xAA, 'b'}, "a雪b")), (Offsets{0, 1, 1, 1, 2}));
  }
  void broken_bytes_of_a_decoded_prompt_do_not_lose_the_rest() {
    const tests::ByteTokenizer tokenizer;
    const auto offsets = offsets_of(token_offsets(tokenizer, {'a', 0xE9, 0x9B, 'b', 'c'},
                                                  "a\xEF\xBF\xBD"
                                                  "bc"));
    QCOMPARE(offsets.front(), std::size_t(0));
    QCOMPARE(offsets[3], std::size_t(2));
    QCOMPARE(offsets[4], std::size_t(3));
  }
  /// Lowercasing, stripping and the like change the text before it is tokenized.
  void offsets_stay_in_the_text_whatever_a_normalizer_did() {
    const tests::ByteTokenizer tokenizer;
    for (const std::string text : {"A  B", "", "xyz", "  ab", "雪雪雪"}) {
      std::size_t last = 0;
      for (const TokenOffset& token : token_offsets(tokenizer, {256, 'a', ' ', 'b', 'c', 0xE9, 'd', 257}, text)) {
        QVERIFY(token.offset >= last && token.offset <= text.size());
        last = token.offset;
      }
    }
    QCOMPARE(offsets_of(token_offsets(tokenizer, {'a', 'b'}, "   a b")), (Offsets{3, 5}));
  }
  void the_space_before_a_text_is_no_part_of_it() {
    const auto tokenizer = engine::open_tokenizer(std::string(LATHE_SOURCE_DIR) + "/resources/demo_model");
    QVERIFY(tokenizer.has_value());
    for (const std::string text : {"Hello world", " Hello world", "KV cache, 雪 and\nmore"}) {
      const auto ids = (*tokenizer)->encode(text, true, true);
      QVERIFY(ids.has_value());
      const auto offsets = token_offsets(**tokenizer, *ids, text);
      const QList<uint> characters = QString::fromStdString(text).toUcs4().toList();
      for (std::size_t i = 1; i < ids->size(); ++i) {
        const std::string piece =
            offsets[i].is_first ? (*tokenizer)->decode_bytes((*ids)[i], true) : (*tokenizer)->piece((*ids)[i]);
        const QList<uint> token = QString::fromStdString(piece).toUcs4().toList();
        if (token.contains(0xFFFD)) continue;
        QCOMPARE(characters.mid(static_cast<int>(offsets[i].offset), token.size()), token);
      }
    }
  }
};

LATHE_TEST(TokenOffsetsTest)

}  // namespace token_offsets_test
#include "token_offsets_test.moc"
