// SPDX-License-Identifier: Apache-2.0
// Tests of the table of GGUF families: the rows that are found for reading and for writing.
#include "engine/load/gguf/gguf_families.h"

#include <QTest>
#include <algorithm>

#include "engine/load/gguf/gguf_family_keys.h"
#include "tests/support/gguf_builder.h"
#include "tests/support/test_class.h"

namespace gguf_families_test {

using namespace lathe;
using engine::GgufKey;
using tests::GgufBuilder;

namespace {

/// The name in config.json; empty: it is not read.
std::string_view read_as(std::string_view architecture) {
  GgufBuilder builder;
  builder.value("general.architecture", architecture);
  const std::string bytes = builder.bytes();
  const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
  const auto family = engine::family_of(header.value());
  return family ? (*family)->name : std::string_view();
}

bool has(std::span<const GgufKey> keys, const GgufKey& key) {
  return std::any_of(keys.begin(), keys.end(), [&](const GgufKey& other) {
    return other.gguf == key.gguf && other.config == key.config && other.kind == key.kind &&
           other.is_required == key.is_required && other.unit == key.unit;
  });
}

}  // namespace

class GgufFamiliesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void what_is_read_is_written_and_listed() {
    QVERIFY(read_as("bert") == "BertModel");
    const auto opt = engine::family_of_architecture("OPTForCausalLM", false);
    QVERIFY(!opt.has_value() && opt.error().code == engine::ErrorCode::unsupported);
    const std::string& refusal = opt.error().message;
    QVERIFY2(refusal.starts_with("OPTForCausalLM cannot be written to GGUF files (supported: LlamaForCausalLM, "),
             refusal.c_str());
    for (const char* name : {"LlamaForCausalLM", "MptForCausalLM", "BertModel"}) {
      QVERIFY(refusal.find(name) != refusal.npos);
      QVERIFY(engine::family_of_architecture(name, false).has_value());
    }
  }

  void files_that_hold_no_model_say_so_data() {
    QTest::addColumn<QString>("type");
    QTest::addColumn<QString>("message");
    QTest::newRow("adapter") << "adapter"
                             << "this is an adapter (LoRA), not a model";
    QTest::newRow("imatrix") << "imatrix"
                             << "this is an importance matrix, not a model";
    QTest::newRow("mmproj") << "mmproj"
                            << "this is the vision or audio part of a model";
    QTest::newRow("model") << "model"
                           << "";
  }
  void files_that_hold_no_model_say_so() {
    QFETCH(QString, type);
    QFETCH(QString, message);
    GgufBuilder builder;
    builder.value("general.type", std::string_view(type.toStdString()));
    builder.value("general.architecture", std::string_view("llama"));
    const std::string bytes = builder.bytes();
    const auto header = engine::GgufHeader::parse(std::as_bytes(std::span(bytes)), "x.gguf");
    const auto family = engine::family_of(header.value());
    QCOMPARE(family.has_value(), message.isEmpty());
    if (!family) QVERIFY2(family.error().message.starts_with(message.toStdString()), family.error().message.c_str());
    if (!family) QCOMPARE(family.error().where, std::string("x.gguf: general.type"));
  }

  /// A file's keys of attention do not depend on whether it has experts.
  void dense_files_of_deepseek_have_the_keys_that_say_nothing_of_experts() {
    std::size_t n_of_experts = 0;
    for (const GgufKey& key : engine::kDeepseekKeys) {
      const bool is_of_experts = key.gguf.starts_with("expert_");
      QVERIFY2(has(engine::kDeepseekDenseKeys, key) != is_of_experts, std::string(key.gguf).c_str());
      n_of_experts += is_of_experts ? 1 : 0;
    }
    QCOMPARE(engine::kDeepseekDenseKeys.size() + n_of_experts, engine::kDeepseekKeys.size());
  }
};

LATHE_TEST(GgufFamiliesTest)

}  // namespace gguf_families_test
#include "gguf_families_test.moc"
