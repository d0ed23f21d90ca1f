// SPDX-License-Identifier: Apache-2.0
// Prompts that fill in the middle: orders of their parts, and vocabularies without tokens for them.
#include <QTest>
#include <map>

#include "app/server/generate/infill.h"
#include "tests/support/byte_tokenizer.h"
#include "tests/support/test_class.h"

namespace infill_test {

using namespace lathe;
using Ids = std::vector<std::int32_t>;

namespace {

/// A vocabulary of bytes with more tokens.
class InfillTokenizer final : public tests::ByteTokenizer {
 public:
  explicit InfillTokenizer(std::map<std::string, std::int32_t, std::less<>> more) : more_(std::move(more)) {}
  std::optional<std::int32_t> id_of(std::string_view piece) const override {
    const auto found = more_.find(piece);
    return found != more_.end() ? std::optional(found->second) : ByteTokenizer::id_of(piece);
  }

 private:
  std::map<std::string, std::int32_t, std::less<>> more_;
};

}  // namespace

class InfillTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void prefix_suffix_middle() {
    const InfillTokenizer tokenizer({{"<|fim_prefix|>", 300}, {"<|fim_suffix|>", 301}, {"<|fim_middle|>", 302}});
    QVERIFY(app::can_infill(tokenizer));
    QCOMPARE(app::encode_infill(tokenizer, "a", "b", true).value(),
             (Ids{tests::ByteTokenizer::kBos, 300, 'a', 301, 'b', 302}));
    QCOMPARE(app::encode_infill(tokenizer, "", "b", false).value(), (Ids{300, 301, 'b', 302}));
  }

  void suffix_before_prefix() {
    const InfillTokenizer tokenizer({{"[PREFIX]", 300}, {"[SUFFIX]", 301}});
    QCOMPARE(app::encode_infill(tokenizer, "a", "b", false).value(), (Ids{301, 'b', 300, 'a'}));
  }

  void a_vocabulary_without_all_tokens_is_refused() {
    for (const auto& tokenizer :
         {InfillTokenizer({}), InfillTokenizer({{"<|fim_prefix|>", 300}, {"<|fim_suffix|>", 301}})}) {
      QVERIFY(!app::can_infill(tokenizer));
      const auto refused = app::encode_infill(tokenizer, "a", "b", false);
      QVERIFY(!refused);
      QCOMPARE(refused.error().where, std::string("suffix"));
      QCOMPARE(refused.error().code, engine::ErrorCode::invalid_argument);
    }
  }
};

LATHE_TEST(InfillTest)

}  // namespace infill_test
#include "infill_test.moc"
