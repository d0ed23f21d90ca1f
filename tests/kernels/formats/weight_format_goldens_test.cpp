// SPDX-License-Identifier: Apache-2.0
// Formats that a load rounds to, against the published formulas in Python (tests/golden/make_weight_format_goldens.py).
#include <QTest>
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/formats/format.h"
#include "tests/support/hex_floats.h"
#include "tests/support/test_class.h"

namespace weight_format_goldens_test {

using namespace lathe::kernels;
using lathe::tests::floats_of_hex;

namespace {

constexpr WeightFormat kFormats[] = {WeightFormat::fp8_channel,  WeightFormat::fp8_weight_only, WeightFormat::int8_channel,
                                     WeightFormat::int8_g32,     WeightFormat::int4_g32,        WeightFormat::int8_g32_asym,
                                     WeightFormat::int4_g32_asym};

/// The same weights, whatever becomes of activations.
std::string golden_of(WeightFormat format) {
  return std::string(descriptor_of(format == WeightFormat::fp8_weight_only ? WeightFormat::fp8_channel : format).name);
}

const nlohmann::json& goldens() {
  static const auto json = nlohmann::json::parse(std::ifstream(LATHE_SOURCE_DIR "/tests/golden/weight_formats.json"));
  return json;
}

}  // namespace

class WeightFormatGoldensTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void weights_are_bitwise_those_of_the_formulas_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("row");
    for (const WeightFormat format : kFormats) {
      for (const auto& row : goldens()["rows"]) {
        const std::string name = row.get<std::string>();
        QTest::addRow("%s: %s", descriptor_of(format).name.data(), name.c_str())
            << static_cast<int>(format) << QString::fromStdString(name);
      }
    }
  }
  void weights_are_bitwise_those_of_the_formulas() {
    QFETCH(int, format);
    QFETCH(QString, row);
    std::vector<float> weights = floats_of_hex(goldens()["source"][row.toStdString()]);
    const std::vector<float> want =
        floats_of_hex(goldens()[golden_of(static_cast<WeightFormat>(format))][row.toStdString()]);
    const auto k = std::ssize(weights);
    QVERIFY(k == goldens()["k"] && std::ssize(want) == k);
    const RoundedTensor rounded(static_cast<WeightFormat>(format), TensorView(weights.data(), Dtype::f32, {1, k}),
                                [](std::int64_t n, const auto& body) { body(0, n); });
    std::vector<float> got(weights.size());
    rounded.row(0, got);
    for (std::size_t i = 0; i < got.size(); ++i) {
      QVERIFY2(std::bit_cast<std::uint32_t>(got[i]) == std::bit_cast<std::uint32_t>(want[i]),
               qPrintable(QStringLiteral("weight %1, %2: got %3, expected %4")
                              .arg(i)
                              .arg(weights[i], 0, 'g', 9)
                              .arg(got[i], 0, 'g', 9)
                              .arg(want[i], 0, 'g', 9)));
    }
  }
};

LATHE_TEST(WeightFormatGoldensTest)

}  // namespace weight_format_goldens_test
#include "weight_format_goldens_test.moc"
