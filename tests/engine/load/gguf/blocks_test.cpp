// SPDX-License-Identifier: Apache-2.0
// Quantized blocks of GGUF files: bit by bit the numbers that gguf-py makes of them.
#include <QTest>
#include <cstring>

#include "engine/load/gguf/gguf_types.h"
#include "kernels/api/rounded_tensor.h"
#include "tests/support/shared_data.h"
#include "tests/support/tiny_model.h"

using namespace lathe;

class BlocksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void numbers_are_those_of_gguf_py_data();
  void numbers_are_those_of_gguf_py();
  void kept_blocks_are_the_same_numbers();
  void types_without_decoder_are_known_by_name();
};

void BlocksTest::numbers_are_those_of_gguf_py_data() {
  QTest::addColumn<unsigned>("number");
  QTest::newRow("Q4_0") << 2U;
  QTest::newRow("Q4_1") << 3U;
  QTest::newRow("Q5_0") << 6U;
  QTest::newRow("Q5_1") << 7U;
  QTest::newRow("Q8_0") << 8U;
  QTest::newRow("Q2_K") << 10U;
  QTest::newRow("Q3_K") << 11U;
  QTest::newRow("Q4_K") << 12U;
  QTest::newRow("Q5_K") << 13U;
  QTest::newRow("Q6_K") << 14U;
  QTest::newRow("IQ4_NL") << 20U;
  QTest::newRow("IQ4_XS") << 23U;
  QTest::newRow("MXFP4") << 39U;
}

void BlocksTest::numbers_are_those_of_gguf_py() {
  constexpr std::size_t kBlocks = 8;
  QFETCH(unsigned, number);
  const engine::StoredType* type = engine::find_gguf_type(number);
  QVERIFY(type != nullptr);
  QCOMPARE(std::string(type->name), std::string(QTest::currentDataTag()));
  const std::string all =
      tests::read_file(tests::source_path(std::string("tests/fixtures/dequantization/") + std::string(type->name) + ".bin"));
  const std::size_t n_bytes = kBlocks * static_cast<std::size_t>(type->bits / 8);
  std::vector<float> got(kBlocks * static_cast<std::size_t>(type->block));
  QCOMPARE(all.size(), n_bytes + got.size() * sizeof(float));
  type->decode(reinterpret_cast<const std::byte*>(all.data()), kBlocks, got.data());
  QVERIFY(std::memcmp(got.data(), all.data() + n_bytes, got.size() * sizeof(float)) == 0);
}

void BlocksTest::kept_blocks_are_the_same_numbers() {
  constexpr std::int64_t kBlocks = 8;
  for (const unsigned number : {2U, 8U}) {
    const engine::StoredType& type = *engine::find_gguf_type(number);
    std::string all = tests::read_file(
        tests::source_path(std::string("tests/fixtures/dequantization/") + std::string(type.name) + ".bin"));
    const std::int64_t row_bytes = kBlocks * type.bits / 8;
    const kernels::RoundedTensor kept(type.packed.value(), {all.data(), kernels::Dtype::u8, {1, row_bytes}}, {});
    std::vector<float> got(static_cast<std::size_t>(kBlocks * type.block));
    kept.row(0, got);
    QVERIFY(std::memcmp(got.data(), all.data() + row_bytes, got.size() * sizeof(float)) == 0);
  }
}

void BlocksTest::types_without_decoder_are_known_by_name() {
  QCOMPARE(std::string(engine::find_gguf_type(16)->name), std::string("IQ2_XXS"));
  QVERIFY(engine::find_gguf_type(16)->decode == nullptr);
  QVERIFY(engine::find_gguf_type(4) == nullptr);  // removed from the format
}

QTEST_APPLESS_MAIN(BlocksTest)
#include "blocks_test.moc"
