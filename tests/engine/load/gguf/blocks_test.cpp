// SPDX-License-Identifier: Apache-2.0
// Quantized blocks of GGUF files: bit by bit the numbers that gguf-py makes of them.
#include <QTest>
#include <cstring>

#include "engine/load/gguf/block_codes.h"
#include "engine/load/gguf/gguf_types.h"
#include "kernels/api/coded_rows.h"
#include "kernels/api/roofline.h"
#include "kernels/api/rounded_tensor.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace blocks_test {

using namespace lathe;

class BlocksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void numbers_are_those_of_gguf_py_data();
  void numbers_are_those_of_gguf_py();
  void kept_blocks_are_the_same_numbers();
  void codes_and_scales_are_the_same_numbers_data();
  void codes_and_scales_are_the_same_numbers();
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

void BlocksTest::codes_and_scales_are_the_same_numbers_data() {
  QTest::addColumn<unsigned>("number");
  QTest::addColumn<QString>("formats");
  const auto row = [](const char* type, unsigned number, const char* formats) { QTest::newRow(type) << number << formats; };
  row("Q4_1", 3, "int4_g32_min int4_g16_min int8_g32_min int8_g16_min");
  row("Q5_0", 6, "int8_g32 int8_g32_asym");
  row("Q5_1", 7, "int8_g32_min int8_g16_min");
  row("Q2_K", 10, "int4_g16_min int8_g16_min");
  row("Q3_K", 11, "int4_g16_min int8_g16_min");
  row("Q4_K", 12, "int4_g32_min int4_g16_min int8_g32_min int8_g16_min");
  row("Q5_K", 13, "int8_g32_min int8_g16_min");
  row("Q6_K", 14, "int8_g16 int8_g16_min");
  row("IQ4_NL", 20, "iq4");
  row("IQ4_XS", 23, "iq4");
}

/// As numbers, bit by bit, and in each format that keeps them; of a zero that has a minimum for its middle the sign is lost.
void BlocksTest::codes_and_scales_are_the_same_numbers() {
  constexpr std::int64_t kRows = 4, kBlocksOfRow = 2;
  QFETCH(unsigned, number);
  QFETCH(QString, formats);
  const engine::StoredType& type = *engine::find_gguf_type(number);
  const std::string all =
      tests::read_file(tests::source_path(std::string("tests/fixtures/dequantization/") + std::string(type.name) + ".bin"));
  const auto n_bytes = static_cast<std::size_t>(kRows * kBlocksOfRow * type.bits / 8);
  const std::int64_t k = kBlocksOfRow * type.block;
  const std::span<const std::byte> blocks(reinterpret_cast<const std::byte*>(all.data()), n_bytes);
  const engine::CodedTensor coded = engine::coded_of_blocks(type, blocks, kRows, k);
  std::vector<float> got(static_cast<std::size_t>(kRows * k));
  std::vector<float> want(got.size());
  std::memcpy(want.data(), all.data() + n_bytes, want.size() * sizeof(float));
  const auto has_same_bits = [&] { return std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0; };
  engine::decode(coded, {}, got.data());
  QVERIFY(has_same_bits());
  QStringList names;
  for (const kernels::WeightFormat format : coded.formats) {
    names << QString::fromStdString(std::string(kernels::name_of(format)));
    const std::int64_t row_bytes = kernels::coded_row_bytes(format, k);
    std::vector<std::byte> rows(static_cast<std::size_t>(kRows * row_bytes));
    engine::write_rows(coded, format, {}, rows.data());
    const kernels::RoundedTensor kept(format, {rows.data(), kernels::Dtype::u8, {kRows, row_bytes}}, {});
    got.assign(got.size(), 0);
    for (std::int64_t row = 0; row < kRows; ++row) {
      kept.row(row, std::span(got).subspan(static_cast<std::size_t>(row * k), static_cast<std::size_t>(k)));
    }
    QVERIFY2(kernels::has_minimums(format) && !coded.has_zeros ? got == want : has_same_bits(), qPrintable(names.back()));
  }
  QCOMPARE(names.join(QLatin1Char(' ')), formats);
}

void BlocksTest::types_without_decoder_are_known_by_name() {
  QCOMPARE(std::string(engine::find_gguf_type(16)->name), std::string("IQ2_XXS"));
  QVERIFY(engine::find_gguf_type(16)->decode == nullptr);
  QVERIFY(engine::find_gguf_type(4) == nullptr);  // removed from the format
}

LATHE_TEST(BlocksTest)

}  // namespace blocks_test
#include "blocks_test.moc"
