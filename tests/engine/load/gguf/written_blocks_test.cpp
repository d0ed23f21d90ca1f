// SPDX-License-Identifier: Apache-2.0
#include "engine/load/gguf/written_blocks.h"

#include <QTest>
#include <cstring>
#include <vector>

#include "engine/load/gguf/gguf_types.h"
#include "kernels/api/coded_rows.h"
#include "tests/support/test_class.h"

namespace written_blocks_test {

using namespace lathe;
using kernels::WeightFormat;

class WrittenBlocksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_format_has_its_type_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("type");
    QTest::newRow("int8_g32") << static_cast<int>(WeightFormat::int8_g32) << "Q8_0";
    QTest::newRow("int4_g32") << static_cast<int>(WeightFormat::int4_g32) << "Q4_0";
    QTest::newRow("mxfp4") << static_cast<int>(WeightFormat::mxfp4) << "MXFP4";
  }

  /// The type's decoder gives the numbers of the codes, each times its scale; powers of two at both ends too.
  void every_format_has_its_type() {
    QFETCH(int, format);
    QFETCH(QString, type);
    const auto weights = static_cast<WeightFormat>(format);
    const engine::StoredType* const stored = engine::find_gguf_type(weights);
    QVERIFY(stored != nullptr && stored->decode != nullptr && stored->block == 32);
    QCOMPARE(QString::fromStdString(std::string(stored->name)), type);
    QVERIFY(engine::find_gguf_type(engine::number_of(*stored)) == stored);
    const std::vector<float> numbers = kernels::numbers_of_codes(weights);
    const std::vector<float> scales = {0.0078125F, 0x1p-120F, 0.5F};
    std::vector<std::uint8_t> codes(96);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i * 37 % numbers.size());
    std::vector<float> small = scales;
    if (weights != WeightFormat::mxfp4) small[1] = 0x1p-20F;  // f16 has no less than 2^-24
    std::vector<std::byte> row(static_cast<std::size_t>(kernels::coded_row_bytes(weights, 96)));
    kernels::write_coded_row(weights, {.codes = codes, .scales = small, .zeros = {}}, row.data());
    std::vector<std::byte> blocks(static_cast<std::size_t>(3 * stored->bits / 8));
    engine::write_gguf_blocks(weights, row, 96, blocks.data());
    std::vector<float> got(96);
    stored->decode(blocks.data(), 3, got.data());
    for (std::size_t i = 0; i < got.size(); ++i) QCOMPARE(got[i], numbers[codes[i]] * small[i / 32]);
  }

  void other_formats_have_none() {
    for (const WeightFormat format : {WeightFormat::f32, WeightFormat::int8_g64, WeightFormat::int4_g32_asym,
                                      WeightFormat::nf4, WeightFormat::fp8_channel}) {
      QVERIFY(engine::find_gguf_type(format) == nullptr);
    }
    for (const WeightFormat format : engine::formats_of_gguf()) QVERIFY(engine::find_gguf_type(format) != nullptr);
  }
};

LATHE_TEST(WrittenBlocksTest)

}  // namespace written_blocks_test
#include "written_blocks_test.moc"
