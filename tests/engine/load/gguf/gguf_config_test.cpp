// SPDX-License-Identifier: Apache-2.0
// Tests of the config.json that is made of a GGUF header.
#include "engine/load/gguf/gguf_config.h"

#include <fmt/format.h>

#include <QTest>

#include "tests/support/gguf_builder.h"
#include "tests/support/test_class.h"

namespace gguf_config_test {

using namespace lathe;
using tests::GgufBuilder;

class GgufConfigTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Layers are told by their tensors: looking through all of them for each layer would take minutes here, and an hour of a
  /// file of a million, which may lie in any watched folder.
  void names_of_many_tensors_are_looked_up_once_for_all_layers() {
    constexpr std::uint32_t kLayers = 200'000;
    GgufBuilder builder;
    builder.value("general.architecture", std::string_view("qwen2moe"));
    builder.value("qwen2moe.block_count", kLayers);
    for (const char* key :
         {"context_length", "embedding_length", "feed_forward_length", "attention.head_count", "attention.head_count_kv",
          "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_feed_forward_length"})
      builder.value(fmt::format("qwen2moe.{}", key), 1U);
    builder.value("qwen2moe.attention.layer_norm_rms_epsilon", 1e-6F);
    builder.tensor("token_embd.weight", {1, 1}, 0, "0000");
    builder.tensor("blk.7.ffn_gate_inp.weight", {1, 1}, 0, "0000");
    for (std::uint32_t i = 2; i < kLayers; ++i) builder.tensor(fmt::format("t{}", i), {1}, 0, "0000");
    const std::string bytes = builder.bytes();
    const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    QVERIFY2(header.has_value(), header ? "" : header.error().message.c_str());
    const auto config = engine::gguf_config(*header, header->tensors());
    QVERIFY2(config.has_value(), config ? "" : (config.error().where + ": " + config.error().message).c_str());
    const engine::Json& dense = (*config)["mlp_only_layers"];
    QCOMPARE(dense.size(), std::size_t{kLayers - 1});
    QVERIFY(dense[6] == 6 && dense[7] == 8);
  }

  /// Readers of a configuration leave them out with a warning, and need what the file has.
  void ends_that_are_no_tokens_stay_in_the_configuration() {
    constexpr std::uint32_t kUint32 = 4, kText = 8, kList = 9;
    const auto list = [](std::uint32_t type, std::uint64_t n) {
      return GgufBuilder::bytes_of(type) + GgufBuilder::bytes_of(n);
    };
    GgufBuilder builder;
    builder.value("general.architecture", std::string_view("llama"));
    for (const char* key :
         {"context_length", "embedding_length", "block_count", "feed_forward_length", "attention.head_count"})
      builder.value(fmt::format("llama.{}", key), 1U);
    builder.value("llama.attention.layer_norm_rms_epsilon", 1e-6F);
    builder.value("tokenizer.ggml.tokens", kList,
                  list(kText, 3) + GgufBuilder::text("a") + GgufBuilder::text("b") + GgufBuilder::text("c"));
    builder.tensor("token_embd.weight", {3, 1}, 0, std::string(12, '0'));
    builder.value("tokenizer.ggml.eos_token_id", 4294967295U);
    builder.value("tokenizer.ggml.bos_token_id", 4U);
    builder.value("tokenizer.ggml.eot_token_id", 7U);
    builder.value("tokenizer.ggml.eos_token_ids", kList,
                  list(kUint32, 2) + GgufBuilder::bytes_of(1U) + GgufBuilder::bytes_of(999999U));
    const std::string bytes = builder.bytes();
    const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    QVERIFY2(header.has_value(), header ? "" : header.error().message.c_str());
    const auto config = engine::gguf_config(*header, header->tensors());
    QVERIFY2(config.has_value(), config ? "" : (config.error().where + ": " + config.error().message).c_str());
    QVERIFY((*config)["eos_token_id"] == engine::Json({4294967295, 1, 999999, 7}));
    QVERIFY((*config)["bos_token_id"] == 4);
  }

  void factors_of_rope_are_a_list_of_numbers_in_the_file_data() {
    constexpr std::uint32_t kF32 = 0, kF16 = 1;
    QTest::addColumn<std::vector<std::int64_t>>("shape");
    QTest::addColumn<std::uint32_t>("type");
    QTest::addColumn<std::int64_t>("offset");
    QTest::addColumn<QString>("refused");
    const char* const no_list = "expected a list of 1 to 4096 numbers in F32";
    QTest::newRow("two") << std::vector<std::int64_t>{2} << kF32 << std::int64_t{0} << "";
    QTest::newRow("none") << std::vector<std::int64_t>{0} << kF32 << std::int64_t{0} << no_list;
    QTest::newRow("too many") << std::vector<std::int64_t>{4097} << kF32 << std::int64_t{0} << no_list;
    QTest::newRow("F16") << std::vector<std::int64_t>{2} << kF16 << std::int64_t{0} << no_list;
    QTest::newRow("a matrix") << std::vector<std::int64_t>{1, 2} << kF32 << std::int64_t{0} << no_list;
    QTest::newRow("behind the end") << std::vector<std::int64_t>{2} << kF32 << std::int64_t{32} << "lies outside the file";
  }
  void factors_of_rope_are_a_list_of_numbers_in_the_file() {
    QFETCH(const std::vector<std::int64_t>, shape);
    QFETCH(const std::uint32_t, type);
    QFETCH(const std::int64_t, offset);
    QFETCH(const QString, refused);
    GgufBuilder builder;
    builder.value("general.architecture", std::string_view("phi3"));
    builder.tensor("rope_factors_long.weight", shape, type, GgufBuilder::bytes_of(1.5F) + GgufBuilder::bytes_of(2.5F),
                   offset);
    const std::string bytes = builder.bytes();
    const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    QVERIFY2(header.has_value(), header ? "" : header.error().message.c_str());
    const auto factors = engine::read_rope_factors(*header, header->tensors().front());
    QCOMPARE(factors.has_value(), refused.isEmpty());
    if (factors) QCOMPARE(*factors, (std::vector<float>{1.5F, 2.5F}));
    if (!factors) QCOMPARE(QString::fromStdString(factors.error().message), refused);
  }
};

LATHE_TEST(GgufConfigTest)

}  // namespace gguf_config_test
#include "gguf_config_test.moc"
