// SPDX-License-Identifier: Apache-2.0
#include "engine/text/gguf_vocabulary.h"

#include <QTemporaryDir>
#include <QTest>
#include <utility>

#include "engine/text/byte_alphabet.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/verify_has.h"

namespace gguf_vocabulary_test {

using namespace lathe::engine;
using lathe::tests::encoded;

namespace {

using Ids = std::vector<std::int32_t>;

GgufVocabulary byte_level() {
  GgufVocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "gpt-2";
  for (int byte = 0; byte < 256; ++byte) {
    vocabulary.tokens.push_back(alphabet_of_bytes(std::string(1, static_cast<char>(byte))));
  }
  for (const char* token : {"he", "<end>", "<tool>"}) vocabulary.tokens.emplace_back(token);
  vocabulary.token_type.assign(259, 1);
  vocabulary.token_type[257] = 3;
  vocabulary.token_type[258] = 4;
  vocabulary.merges = {"h e"};
  vocabulary.bos_token_id = vocabulary.eos_token_id = 257;
  return vocabulary;
}

GgufVocabulary sentencepiece() {
  GgufVocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.tokens = {"<unk>",
                       "<s>",
                       "</s>",
                       "\xE2\x96\x81",
                       "a",
                       "b",
                       "ab",
                       "\xE2\x96\x81"
                       "ab",
                       "[gap1]",
                       "[gap2]"};
  vocabulary.scores = {0, 0, 0, -5, -6, -7, -1, -2, 0, 0};
  vocabulary.token_type = {2, 3, 3, 1, 1, 1, 1, 1, 2, 2};
  vocabulary.bos_token_id = 1;
  vocabulary.eos_token_id = 2;
  vocabulary.unknown_token_id = 0;
  return vocabulary;
}

/// Pieces for the bytes of U+00E9 alone.
GgufVocabulary gemma4() {
  GgufVocabulary vocabulary;
  vocabulary.model = "gemma4";
  vocabulary.tokens = {"<pad>", "<eos>", "<bos>", "<unk>", "<0xC3>", "<0xA9>", "\xE2\x96\x81", "a", "b", "ab", "\n", "\n\n"};
  vocabulary.tokens.emplace_back(
      "\xE2\x96\x81"
      "ab");
  vocabulary.tokens.emplace_back("<|tool_call>");
  vocabulary.token_type = {3, 3, 3, 2, 6, 6, 1, 1, 1, 1, 1, 1, 1, 4};
  vocabulary.merges = {"a b", "\xE2\x96\x81 ab", "\n \n"};
  vocabulary.bos_token_id = 2;
  vocabulary.eos_token_id = 1;
  vocabulary.unknown_token_id = 3;
  return vocabulary;
}

GgufVocabulary wordpiece() {
  GgufVocabulary vocabulary;
  vocabulary.model = "bert";
  vocabulary.tokens = {"[UNK]",
                       "[CLS]",
                       "[SEP]",
                       "\xE2\x96\x81un",
                       "able",
                       "\xE2\x96\x81"
                       "a"};
  vocabulary.token_type = {3, 3, 3, 1, 1, 1};
  vocabulary.cls_token_id = 1;
  vocabulary.separator_token_id = 2;
  vocabulary.unknown_token_id = 0;
  return vocabulary;
}

std::string refusal(const GgufVocabulary& vocabulary) {
  const auto made = make_gguf_tokenizer(vocabulary);
  if (made) return "was accepted";
  return made.error().code == ErrorCode::model_refused ? made.error().where + ": " + made.error().message : "another code";
}

}  // namespace

class GgufVocabularyTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void bytes_merge() {
    const auto t = make_gguf_tokenizer(byte_level());
    QVERIFY(t.has_value());
    QCOMPARE(encoded(**t, "he e", true, false), (Ids{256, ' ', 'e'}));
    QCOMPARE(encoded(**t, "<tool>", false, false), (Ids{258}));
    QCOMPARE((*t)->eos_ids(), Ids{257});
  }
  /// Merges over the whole text, blanks as marks, bytes for what has no piece, and BOS unless the file says no.
  void gemma_4_merges_texts_without_words() {
    const auto t = make_gguf_tokenizer(gemma4());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE(encoded(**t, "ab ab\n\n\na", true, false), (Ids{2, 9, 12, 11, 10, 7}));
    QCOMPARE(encoded(**t, "\xC3\xA9<|tool_call>  b", false, false), (Ids{4, 5, 13, 6, 6, 8}));
    QCOMPARE((*t)->decode(Ids{9, 12, 4, 5, 8}, true), std::string("ab ab\xC3\xA9"
                                                                  "b"));
    QVERIFY((*t)->adds_bos());
    GgufVocabulary without = gemma4();
    without.add_bos_token = false;
    QCOMPARE(encoded(**make_gguf_tokenizer(without), "b", true, false), Ids{8});
  }
  void T6_control_tokens_are_no_text() {
    const auto t = make_gguf_tokenizer(byte_level());
    QCOMPARE(encoded(**t, "<end>", false, false).size(), std::size_t{5});
    QCOMPARE(encoded(**t, "<end>", false, true), (Ids{257}));
  }
  void bos_goes_before_where_the_file_says_so() {
    GgufVocabulary vocabulary = byte_level();
    vocabulary.add_bos_token = true;
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "he", true, false), (Ids{257, 256}));
  }
  /// As llama.cpp does: some vocabularies have it unless the file says no.
  void bos_goes_before_where_the_name_says_so() {
    GgufVocabulary vocabulary = byte_level();
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "he", true, false), Ids{256});
    vocabulary.pre = "llama-bpe";
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "he", true, false), (Ids{257, 256}));
    QVERIFY((*make_gguf_tokenizer(vocabulary))->adds_bos());
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "he", false, false), Ids{256});
    vocabulary.add_bos_token = false;
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "he", true, false), Ids{256});
  }
  void sentencepieces_merge_by_score() {
    const auto t = make_gguf_tokenizer(sentencepiece());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE((*t)->kind(), std::string_view("sentencepiece"));
    QCOMPARE(encoded(**t, "abb", true, false), (Ids{1, 7, 5}));
    QCOMPARE((*t)->decode(Ids{7, 5}, true), std::string("abb"));
  }
  void a_space_goes_before_unless_the_file_says_no() {
    GgufVocabulary vocabulary = sentencepiece();
    vocabulary.add_space_prefix = false;
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "ab", false, false), (Ids{6}));
  }
  void words_of_bert_are_marked_at_their_front() {
    const auto t = make_gguf_tokenizer(wordpiece());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE(encoded(**t, "Unable a x", true, false), (Ids{1, 3, 4, 5, 0, 2}));
    QCOMPARE((*t)->decode(Ids{3, 4, 5}, true), std::string("unable a"));
  }
  void the_file_says_whether_capitals_and_accents_stay() {
    GgufVocabulary vocabulary = wordpiece();
    vocabulary.normalizer_lowercase = false;
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "A a \xC3\xA1", false, false), (Ids{0, 5, 0}));
    vocabulary.normalizer_strip_accents = true;
    QCOMPARE(encoded(**make_gguf_tokenizer(vocabulary), "A a \xC3\xA1", false, false), (Ids{0, 5, 5}));
  }
  void L17_arrays_that_do_not_fit_are_refused() {
    GgufVocabulary vocabulary = byte_level();
    vocabulary.token_type.pop_back();
    VERIFY_HAS(refusal(vocabulary), "tokenizer.ggml.token_type: 258 types for 259 tokens");
    vocabulary = byte_level();
    vocabulary.token_type[3] = 7;
    VERIFY_HAS(refusal(vocabulary), "the type 7 is unknown");
    vocabulary = sentencepiece();
    vocabulary.scores.pop_back();
    VERIFY_HAS(refusal(vocabulary), "9 scores for 10 tokens");
    vocabulary.scores.clear();
    VERIFY_HAS(refusal(vocabulary), "tokenizer.ggml.scores: is missing");
    vocabulary = byte_level();
    vocabulary.merges.emplace_back("h");
    VERIFY_HAS(refusal(vocabulary), "tokenizer.ggml.merges[1]: must be two pieces");
    vocabulary = byte_level();
    vocabulary.tokens.clear();
    VERIFY_HAS(refusal(vocabulary), "0 tokens");
    vocabulary = byte_level();
    vocabulary.tokens[0] = "\xFF";
    VERIFY_HAS(refusal(vocabulary), "token 0 is not UTF-8");
    vocabulary.tokens[0] = std::string(5000, 'x');
    VERIFY_HAS(refusal(vocabulary), "token 0 has 5000 bytes");
  }
  /// Readers of the model's configuration warn of them.
  void L17_ids_behind_the_tokens_are_left_out() {
    for (const std::int32_t id : {-1, 259, 1 << 30}) {
      for (GgufVocabulary vocabulary : {byte_level(), gemma4(), wordpiece()}) {
        vocabulary.add_bos_token = true;
        vocabulary.bos_token_id = vocabulary.eos_token_id = vocabulary.cls_token_id = vocabulary.unknown_token_id = id;
        const auto made = make_gguf_tokenizer(vocabulary);
        QVERIFY2(made.has_value(), made ? "" : made.error().message.c_str());
        QVERIFY(!(*made)->bos_id().has_value());
      }
    }
  }
  void names_that_are_not_known_are_refused() {
    GgufVocabulary vocabulary = byte_level();
    vocabulary.pre = "marvellous";
    VERIFY_HAS(refusal(vocabulary), "tokenizer.ggml.pre: \"marvellous\" is unknown (known: gpt-2, ");
    vocabulary.model = "rwkv";
    VERIFY_HAS(refusal(vocabulary), "tokenizer.ggml.model: \"rwkv\" is unknown");
  }
  void the_file_of_a_folder_reads_the_same() {
    GgufVocabulary with_ends = byte_level();
    with_ends.add_bos_token = with_ends.add_eos_token = true;
    for (const auto& [vocabulary, name] :
         {std::pair(byte_level(), "tokenizer.json"), std::pair(with_ends, "tokenizer.json"),
          std::pair(sentencepiece(), "tokenizer.model"), std::pair(gemma4(), "tokenizer.json")}) {
      const auto file = write_vocabulary_file(vocabulary);
      QVERIFY(file.has_value());
      QCOMPARE(file->name, std::string(name));
      const QTemporaryDir folder;
      const std::string path = folder.filePath(QString::fromLatin1(name)).toStdString();
      lathe::tests::write_file(path, file->text);
      const auto meant = make_gguf_tokenizer(vocabulary), got = open_tokenizer(path);
      QVERIFY2(got.has_value(), got ? "" : (got.error().where + ": " + got.error().message).c_str());
      for (const char* text : {"he hehe\n", "<tool>he<end> x", "ab a\xC3\xA9 ab", ""}) {
        for (const bool parse_special : {false, true}) {
          QCOMPARE(encoded(**got, text, true, parse_special), encoded(**meant, text, true, parse_special));
        }
      }
    }
  }
  void a_kind_that_no_file_is_made_of_is_refused() {
    const auto refused = write_vocabulary_file(wordpiece());
    QVERIFY(!refused.has_value() && refused.error().code == ErrorCode::unsupported);
    VERIFY_HAS(refused.error().message, "\"bert\" cannot be written");
  }
};

LATHE_TEST(GgufVocabularyTest)

}  // namespace gguf_vocabulary_test
#include "gguf_vocabulary_test.moc"
