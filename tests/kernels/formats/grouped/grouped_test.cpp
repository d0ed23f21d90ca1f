// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/grouped/grouped.h"

#include <QTest>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace grouped_test {

using namespace lathe::kernels;

namespace {

const CodedFormat kInt8 = grouped_format(8, 32);
const CodedFormat kInt4 = grouped_format(4, 32);

struct Quantized {
  std::vector<std::uint8_t> codes;
  float scale = 0;
  float weight(const CodedFormat& format, std::size_t i) const { return format.decode(format, codes[i], {scale}); }
};

Quantized quantized(const CodedFormat& format, const std::vector<float>& weights) {
  Quantized result{.codes = std::vector<std::uint8_t>(weights.size()), .scale = format.scale_of(format, weights).scale};
  format.encode(format, weights, {result.scale}, result.codes.data());
  return result;
}

std::vector<float> random_weights(std::uint64_t seed, float scale) {
  RandomNumbers numbers(seed);
  std::vector<float> weights(32);
  for (float& weight : weights) weight = scale * numbers.next();
  return weights;
}

}  // namespace

class GroupedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void eight_bits_by_hand() {
    // The scale is 127 / 127 = 1; halves go to the even neighbour.
    const Quantized got = quantized(kInt8, {127, -127, 0, 0.5F, 1.5F, -2.5F, 3.4F});
    QCOMPARE(got.scale, 1.0F);
    QCOMPARE(got.codes, (std::vector<std::uint8_t>{255, 1, 128, 128, 130, 126, 131}));
    QCOMPARE(got.weight(kInt8, 1), -127.0F);
    QCOMPARE(got.weight(kInt8, 6), 3.0F);
  }

  void four_bits_by_hand() {
    // The largest magnitude is -8, so the scale is 1, and +8 is one more than there is a code for.
    const Quantized got = quantized(kInt4, {-8, 7, 0, 8, 0.5F, -1.5F, 2.6F});
    QCOMPARE(got.scale, 1.0F);
    QCOMPARE(got.codes, (std::vector<std::uint8_t>{0, 15, 8, 15, 8, 6, 11}));
    QCOMPARE(got.weight(kInt4, 0), -8.0F);
    QCOMPARE(got.weight(kInt4, 1), 7.0F);
  }

  void the_sign_of_four_bits_follows_the_largest_weight() {
    const Quantized got = quantized(kInt4, {16, -14, 1});
    QCOMPARE(got.scale, -2.0F);
    QCOMPARE(got.weight(kInt4, 0), 16.0F);
    QCOMPARE(got.weight(kInt4, 1), -14.0F);
  }

  void every_weight_gets_the_nearest_code_data() {
    QTest::addColumn<int>("bits");
    QTest::newRow("8") << 8;
    QTest::newRow("4") << 4;
  }
  void every_weight_gets_the_nearest_code() {
    QFETCH(int, bits);
    const CodedFormat format = grouped_format(bits, 32);
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      const std::vector<float> weights = random_weights(seed, seed % 2 == 0 ? 1e-3F : 30.0F);
      const Quantized got = quantized(format, weights);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const float error = std::fabs(got.weight(format, i) - weights[i]);
        for (int code = bits == 8 ? 1 : 0; code < 1 << bits; ++code) {
          const float other = std::fabs(format.decode(format, static_cast<std::uint8_t>(code), {got.scale}) - weights[i]);
          QVERIFY2(error <= other * 1.00001F, qPrintable(QStringLiteral("seed %1, weight %2").arg(seed).arg(i)));
        }
      }
    }
  }

  void zeros_stay_zeros() {
    for (const CodedFormat& format : {kInt8, kInt4}) {
      const Quantized got = quantized(format, std::vector<float>(32, 0.0F));
      for (std::size_t i = 0; i < 32; ++i) QCOMPARE(got.weight(format, i), 0.0F);
    }
  }

  /// Below the smallest scale of f16 nothing is left, and nothing may become NaN.
  void weights_too_small_for_a_scale_become_zeros() {
    for (const CodedFormat& format : {kInt8, kInt4}) {
      const Quantized got = quantized(format, {1e-9F, -1e-9F, 0});
      for (std::size_t i = 0; i < 3; ++i) QCOMPARE(got.weight(format, i), 0.0F);
    }
  }

  void a_scale_stays_finite() {
    for (const CodedFormat& format : {kInt8, kInt4}) {
      const Quantized got = quantized(format, {3e38F, -1.0F, 0});
      QVERIFY(std::isfinite(got.weight(format, 0)) && got.weight(format, 0) > 500'000);
      QCOMPARE(got.weight(format, 2), 0.0F);
    }
  }

  void what_is_no_number_harms_no_other_weight() {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for (const CodedFormat& format : {kInt8, kInt4}) {
      const Quantized got = quantized(format, {nan, 4.0F, -2.0F});
      QCOMPARE(got.weight(format, 0), 0.0F);
      QVERIFY(std::fabs(got.weight(format, 1) - 4.0F) < 0.02F);
      QVERIFY(std::fabs(got.weight(format, 2) + 2.0F) < 0.02F);  // half a step of 4 / 127
    }
  }
};

LATHE_TEST(GroupedTest)

}  // namespace grouped_test
#include "grouped_test.moc"
