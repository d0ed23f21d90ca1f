// SPDX-License-Identifier: Apache-2.0
// Tests of the tokens of a GGUF file that end an answer: those of its keys and those that are known by their text.
#include "engine/load/gguf/gguf_ends.h"

#include <QTest>
#include <set>
#include <span>

#include "tests/support/gguf_builder.h"
#include "tests/support/test_class.h"

namespace gguf_ends_test {

using namespace lathe::engine;
using lathe::tests::GgufBuilder;

namespace {

using Ids = std::vector<std::int32_t>;
constexpr std::uint32_t kInt32 = 5, kText = 8, kList = 9;

GgufBuilder vocabulary(const std::vector<std::string>& tokens, const std::vector<std::int32_t>& types = {}) {
  const auto list_of = [](std::uint32_t type, std::size_t n) {
    return GgufBuilder::bytes_of(type) + GgufBuilder::bytes_of<std::uint64_t>(n);
  };
  std::string texts = list_of(kText, tokens.size()), numbers = list_of(kInt32, types.size());
  for (const std::string& token : tokens) texts += GgufBuilder::text(token);
  for (const std::int32_t type : types) numbers += GgufBuilder::bytes_of(type);
  GgufBuilder builder;
  builder.value("tokenizer.ggml.tokens", kList, texts);
  if (!types.empty()) builder.value("tokenizer.ggml.token_type", kList, numbers);
  return builder;
}

Ids ends_in(const std::string& bytes) {
  const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
  return header.value().file().empty() ? Ids{-2} : read_gguf_ends(*header).value();
}

Ids ends_of(const GgufBuilder& builder) { return ends_in(builder.bytes()); }

/// Written, and read again.
Ids written(std::optional<std::int32_t> eos, const Ids& ends, std::set<std::string>* keys = nullptr) {
  GgufMetadata metadata;
  write_gguf_ends(eos, ends, metadata);
  const std::string bytes = "GGUF" + GgufBuilder::bytes_of<std::uint32_t>(3) + GgufBuilder::bytes_of<std::uint64_t>(0) +
                            GgufBuilder::bytes_of(metadata.n_values()) + std::string(metadata.bytes()) +
                            std::string(64, '\0');
  const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
  if (!header) return {-2};
  if (keys != nullptr) {
    for (const auto& [key, value] : header->values()) keys->insert(key);
  }
  return read_gguf_ends(*header).value();
}

}  // namespace

class GgufEndsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_file_that_names_none_has_none() {
    QCOMPARE(ends_of(vocabulary({"a", "b"})), Ids());
    QCOMPARE(ends_of(GgufBuilder().value("tokenizer.ggml.eos_token_id", 7U)), Ids{7});
  }

  void every_key_is_read() {
    GgufBuilder builder = vocabulary({"a", "b", "c", "d", "e", "f", "g", "h"});
    builder.value("tokenizer.ggml.eos_token_id", 6U).value("tokenizer.ggml.eot_token_id", 2U);
    builder.value("tokenizer.ggml.eom_token_id", 4U).value("tokenizer.ggml.fim_sep_token_id", 0U);
    builder.value("tokenizer.ggml.eos_token_ids", kList,
                  GgufBuilder::bytes_of(kInt32) + GgufBuilder::bytes_of<std::uint64_t>(3) + GgufBuilder::bytes_of(6) +
                      GgufBuilder::bytes_of(5) + GgufBuilder::bytes_of(2));
    QCOMPARE(ends_of(builder), (Ids{6, 0, 2, 4, 5}));
  }

  void ends_of_turns_are_known_by_their_text_data() {
    QTest::addColumn<QString>("text");
    for (const char* text : {"<end_of_turn>", "<|end|>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>",
                             "<|end_of_text|>", "<EOT>", "[EOT]",
                             "<\xEF\xBD\x9C"
                             "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>"}) {
      QTest::newRow(text) << QString::fromUtf8(text);
    }
  }
  void ends_of_turns_are_known_by_their_text() {
    QFETCH(QString, text);
    const std::vector<std::string> tokens = {"<s>", "</s>", "a", text.toStdString()};
    // Whatever the file takes it for: converters are known to have called them ordinary.
    for (const int type : {1, 3, 4}) {
      GgufBuilder builder = vocabulary(tokens, {3, 3, 1, type});
      QCOMPARE(ends_of(builder.value("tokenizer.ggml.eos_token_id", 1U)), (Ids{1, 3}));
    }
  }

  /// Gemma's vocabulary has the tag of struck-through text.
  void a_tag_is_no_end() {
    QCOMPARE(ends_of(vocabulary({"<eos>", "</s>"}, {3, 4})), Ids{0});
    QCOMPARE(ends_of(vocabulary({"<unk>", "</s>"}, {2, 3})), Ids{1});
    QCOMPARE(ends_of(vocabulary({"<unk>", "</s>"})), Ids{1});
  }

  /// gpt-oss ends its reasoning with <|end|> and goes on.
  void the_end_of_a_part_is_no_end() {
    GgufBuilder builder = vocabulary({"<|return|>", "<|end|>", "<|call|>"}, {3, 3, 3});
    QCOMPARE(ends_of(builder), (Ids{0, 2}));
    QCOMPARE(ends_of(builder.value("tokenizer.ggml.eot_token_id", 1U)), (Ids{0, 2}));
    QCOMPARE(ends_of(vocabulary({"<|endoftext|>", "<|end|>"}, {3, 3})), (Ids{0, 1}));
  }

  void ids_that_are_no_token_are_left_out() {
    GgufBuilder builder = vocabulary({"a", "b"});
    QCOMPARE(ends_of(builder.value("tokenizer.ggml.eot_token_id", 2U).value("tokenizer.ggml.eom_token_id", UINT32_MAX)),
             Ids());
    // But for the one that the model's own check refuses.
    QCOMPARE(ends_of(builder.value("tokenizer.ggml.eos_token_id", 9U)), Ids{9});
  }

  void another_type_is_refused() {
    const std::string bytes = vocabulary({"a"}).value("tokenizer.ggml.eot_token_id", std::string_view("one")).bytes();
    const auto header = GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    const auto refused = read_gguf_ends(header.value());
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().where, std::string("x.gguf: tokenizer.ggml.eot_token_id"));
  }

  void what_is_written_is_read_again() {
    QCOMPARE(written(std::nullopt, {}), Ids());
    QCOMPARE(written(5, {5}), Ids{5});
    QCOMPARE(written(std::nullopt, {8, 3}), (Ids{3, 8}));
    QCOMPARE(written(8, {3, 8}), (Ids{8, 3}));
    QCOMPARE(written(8, {9, 1, 8, 4, 7}), (Ids{8, 1, 4, 7, 9}));
  }

  /// Where llama.cpp looks.
  void others_lie_under_the_usual_keys() {
    std::set<std::string> keys;
    written(8, {8, 1, 4}, &keys);
    QVERIFY(keys.contains("tokenizer.ggml.eot_token_id") && keys.contains("tokenizer.ggml.eom_token_id"));
    keys.clear();
    written(8, {8}, &keys);
    QCOMPARE(keys, std::set<std::string>{"tokenizer.ggml.eos_token_id"});
  }
};

LATHE_TEST(GgufEndsTest)

}  // namespace gguf_ends_test
#include "gguf_ends_test.moc"
