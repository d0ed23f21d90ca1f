// SPDX-License-Identifier: Apache-2.0
// What a header becomes as config.json.
#include "engine/load/gguf/gguf_config.h"

#include <fmt/format.h>

#include <QTest>

#include "tests/support/gguf_builder.h"

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
};

QTEST_GUILESS_MAIN(GgufConfigTest)
#include "gguf_config_test.moc"
