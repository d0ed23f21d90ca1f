// SPDX-License-Identifier: Apache-2.0
// Row L19: a text of more bytes, or of more tokens, than 31 bits count is refused before anything is made of it.
#include <sys/mman.h>

#include <QTest>

#include "engine/text/tokenizer_json.h"
#include "tests/support/bpe_files.h"
#include "tests/support/test_class.h"
#include "tests/support/text_files.h"
#include "tests/support/tiny_model.h"

namespace huge_text_test {

using namespace lathe::engine;
using namespace lathe::tests;

namespace {

/// So many bytes that nobody may read: who tries ends the test.
class UnreadableText {
 public:
  explicit UnreadableText(std::size_t n)
      : n_(n), begin_(::mmap(nullptr, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  UnreadableText(const UnreadableText&) = delete;
  UnreadableText& operator=(const UnreadableText&) = delete;
  ~UnreadableText() {
    if (is_there()) ::munmap(begin_, n_);
  }
  bool is_there() const { return begin_ != MAP_FAILED; }
  std::string_view text() const { return {static_cast<const char*>(begin_), n_}; }

 private:
  std::size_t n_;
  void* begin_;
};

}  // namespace

class HugeTextTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void L19_texts_beyond_31_bits_are_refused_unread_data() {
    QTest::addColumn<QString>("kind");
    QTest::newRow("byte level") << "byte_level";
    QTest::newRow("byte fallback") << "byte_fallback";
    QTest::newRow("sentencepiece") << "sentencepiece";
  }
  void L19_texts_beyond_31_bits_are_refused_unread() {
    QFETCH(QString, kind);
    const auto tokenizer = open(kind);
    QVERIFY(tokenizer != nullptr);
    for (const std::size_t n : {(std::size_t{1} << 31) - 1, (std::size_t{1} << 31) + 1, (std::size_t{1} << 32) + 1}) {
      const UnreadableText huge(n);
      QVERIFY(huge.is_there());
      for (const bool parse_special : {false, true}) {
        const auto ids = tokenizer->encode(huge.text(), true, parse_special);
        QVERIFY(!ids.has_value());
        QCOMPARE(ids.error().code, ErrorCode::too_large);
      }
    }
    QVERIFY(tokenizer->encode("hello", true, false).has_value());
  }

 private:
  static std::unique_ptr<Tokenizer> open(const QString& kind) {
    const TextFolder folder;
    if (kind == "sentencepiece") return std::move(*open_tokenizer(tiny_model_path()));
    folder.write("tokenizer.json", (kind == "byte_level" ? byte_level_file() : byte_fallback_file()).dump());
    return std::move(*open_tokenizer(folder.path()));
  }
};

LATHE_TEST(HugeTextTest)

}  // namespace huge_text_test
#include "huge_text_test.moc"
