// SPDX-License-Identifier: Apache-2.0
#include "engine/text/vocabulary_files.h"

#include <QTest>

#include "tests/support/bpe_files.h"
#include "tests/support/encoded.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"

namespace vocabulary_files_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

using Ids = std::vector<std::int32_t>;

/// The vocabulary of byte_level_file() in the files of the years before.
struct OldFolder : TextFolder {
  explicit OldFolder(const std::string& merges = "#version: 0.2\nh e\nl l\nhe ll\nhell o\n",
                     const std::string& config = "{}") {
    Json vocabulary = byte_level_file()["model"]["vocab"];
    vocabulary["<|endoftext|>"] = vocabulary.size();
    write("vocab.json", vocabulary.dump());
    write("merges.txt", merges);
    write("tokenizer_config.json", config);
  }
};

std::string refusal(const TextFolder& folder) {
  const auto made = open_tokenizer(folder.path());
  if (made) return "was accepted";
  return made.error().code == ErrorCode::model_refused ? made.error().where + ": " + made.error().message : "another code";
}

constexpr const char* kBert = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n!\ncafe\n\xE4\xB8\x96\n";

}  // namespace

class VocabularyFilesTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void vocabulary_and_merges_are_a_tokenizer() {
    const OldFolder folder;
    const auto t = open_tokenizer(folder.path());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE(encoded(**t, "hello", true, false), (Ids{*(*t)->id_of("hello")}));
    QCOMPARE((*t)->decode(encoded(**t, " h\xC3\xA9 \n", false, false), true), std::string(" h\xC3\xA9 \n"));
    QCOMPARE((*t)->eos_ids(), Ids{*(*t)->id_of("<|endoftext|>")});
  }
  void T6_the_end_of_text_is_no_text() {
    const OldFolder folder;
    const auto t = open_tokenizer(folder.path());
    for (const std::int32_t id : encoded(**t, "<|endoftext|>", false, false)) QVERIFY(!(*t)->is_special(id));
    QCOMPARE(encoded(**t, "<|endoftext|>", false, true), (*t)->eos_ids());
  }
  void the_class_says_how_words_are_cut() {
    const OldFolder folder("h e\n", R"({"tokenizer_class":"Qwen2Tokenizer"})");
    const auto t = open_tokenizer(folder.path());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    // NFC is the class's own
    QCOMPARE(encoded(**t, "e\xCC\x81", false, false), encoded(**t, "\xC3\xA9", false, false));
    const OldFolder other("h e\n", R"({"tokenizer_class":"MarvellousTokenizer"})");
    const std::string message = refusal(other);
    QVERIFY2(message.find("\"MarvellousTokenizer\" is unknown") != std::string::npos, message.c_str());
  }
  void L17_damaged_merges_are_refused() {
    for (const char* bad : {"h", "h e l", "h ", " e"}) {
      const std::string message = refusal(OldFolder(std::string("l l\n") + bad + "\n"));
      QVERIFY2(message.starts_with("merges.txt: line 2: must be two pieces"), message.c_str());
    }
    QVERIFY(refusal(OldFolder("zz top\n")).find("which is not in the vocabulary") != std::string::npos);
  }
  void L1_damaged_vocabularies_are_refused() {
    const OldFolder folder;
    for (const char* bad : {"", "[]", "{\"a\":", "{\"a\":-1}", "{\"a\":\"b\"}"}) {
      folder.write("vocab.json", bad);
      QVERIFY2(refusal(folder).starts_with("vocab.json"), refusal(folder).c_str());
    }
  }
  void lines_of_bert_are_a_tokenizer() {
    const TextFolder folder;
    folder.write("vocab.txt", kBert);
    const auto t = open_tokenizer(folder.path());
    QVERIFY2(t.has_value(), t ? "" : t.error().message.c_str());
    QCOMPARE((*t)->kind(), std::string_view("wordpiece"));
    QCOMPARE(encoded(**t, "Unable!", true, false), (Ids{2, 5, 6, 7, 3}));
    QCOMPARE(encoded(**t, "CAF\xC3\x89 x\xE4\xB8\x96", false, false), (Ids{8, 1, 9}));
    QCOMPARE((*t)->decode(Ids{5, 6, 7}, true), std::string("unable!"));
    for (const std::int32_t id : encoded(**t, "[SEP]", false, false)) QVERIFY(!(*t)->is_special(id) || id == 1);
  }
  void bert_may_keep_capitals() {
    const TextFolder folder;
    folder.write("vocab.txt", kBert);
    folder.write("tokenizer_config.json", R"({"do_lower_case": false})");
    QCOMPARE(encoded(**open_tokenizer(folder.path()), "Unable unable", false, false), (Ids{1, 5, 6}));
  }
  void L17_damaged_lines_of_bert_are_refused() {
    const TextFolder folder;
    folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\n\xFF\n");
    QCOMPARE(refusal(folder), std::string("vocab.txt: line 4: is not UTF-8"));
    folder.write("vocab.txt", "[UNK]\n[CLS]\n[SEP]\na\na\n");
    QVERIFY(refusal(folder).find("the piece \"a\" appears twice") != std::string::npos);
    folder.write("vocab.txt", "a\n");
    QVERIFY(refusal(folder).find("[UNK]") != std::string::npos || refusal(folder).find("unk_token") != std::string::npos);
  }
};

LATHE_TEST(VocabularyFilesTest)

}  // namespace vocabulary_files_test
#include "vocabulary_files_test.moc"
