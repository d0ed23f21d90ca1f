// SPDX-License-Identifier: Apache-2.0
// MXFP4: what codes stand for, and which scale weights get.
#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/api/rounded_tensor.h"
#include "kernels/cpu/isa/encoders.h"
#include "kernels/formats/format.h"
#include "kernels/formats/mxfp4/mxfp4_book.h"
#include "tests/support/test_class.h"

namespace mxfp4_test {

using namespace lathe::kernels;

namespace {

const CodedFormat& mxfp4() { return descriptor_of(WeightFormat::mxfp4).codes; }

float scale_of(const std::vector<float>& weights) { return mxfp4().scale_of(mxfp4(), weights).scale; }

std::vector<std::uint8_t> codes_of(const std::vector<float>& weights, float scale) {
  std::vector<std::uint8_t> codes(weights.size());
  mxfp4().encode(mxfp4(), weights, {.scale = scale}, codes.data());
  return codes;
}

std::vector<float> rounded(std::vector<float> weights) {
  const RoundedTensor tensor(WeightFormat::mxfp4, {weights.data(), Dtype::f32, {1, std::ssize(weights)}}, {});
  std::vector<float> row(weights.size());
  tensor.row(0, row);
  return row;
}

}  // namespace

class Mxfp4Test : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void codes_are_numbers_with_a_sign_two_bits_of_exponent_and_one_of_fraction() {
    for (std::uint8_t code = 0; code < 16; ++code) {
      const int exponent = code >> 1 & 3, fraction = code & 1;
      const double magnitude = exponent == 0 ? fraction * 0.5 : (1 + fraction * 0.5) * std::exp2(exponent - 1);
      const float number = mxfp4().decode(mxfp4(), code, {.scale = 4});
      QCOMPARE(std::fabs(number), static_cast<float>(4 * magnitude));
      QCOMPARE(std::signbit(number), code >= 8);
      const float steps = Mxfp4Book::kValues[code] * Mxfp4Book::kSteps;
      QCOMPARE(steps, std::round(steps));  // kernels multiply those, and lose nothing
    }
  }

  void scales_are_powers_of_two() {
    QCOMPARE(scale_of({0.1F, -6, 2}), 1.0F);
    QCOMPARE(scale_of({7.9F}), 1.0F);  // 6 is the largest: cut off
    QCOMPARE(scale_of({8}), 2.0F);
    QCOMPARE(scale_of({-0.5F, 0.3F}), 0.125F);
    QVERIFY(scale_of({0, 0}) > 0);
    QVERIFY(std::isfinite(scale_of({INFINITY})) && std::isfinite(scale_of({NAN, 1})));
  }

  void the_nearest_code_is_taken() {
    const std::vector<float> weights = {0, 0.2F, 0.3F, 1, -1.2F, -1.3F, 2.4F, 2.6F, 4.9F, 5.1F, 100, -7};
    const std::vector<std::uint8_t> want = {0, 8, 1, 2, 10, 11, 4, 5, 6, 7, 7, 15};
    const std::vector<std::uint8_t> got = codes_of(weights, 1);
    for (std::size_t i = 0; i < want.size(); ++i) {
      QCOMPARE(std::fabs(Mxfp4Book::kValues[got[i]]), std::fabs(Mxfp4Book::kValues[want[i]]));
      if (got[i] % 8 != 0) QCOMPARE(got[i], want[i]);  // zero has two
    }
  }

  void what_is_mxfp4_already_stays_bit_by_bit() {
    std::vector<float> weights;
    for (int group = 0; group < 3; ++group) {
      for (int i = 0; i < 32; ++i)
        weights.push_back(Mxfp4Book::kValues[(i * 7 + group) % 16] * std::exp2(static_cast<float>(group - 9)));
    }
    const std::vector<float> again = rounded(weights);
    for (std::size_t i = 0; i < weights.size(); ++i) QVERIFY(again[i] == weights[i]);
  }

  void groups_lie_in_rows() {
    QCOMPARE(mxfp4().group, kMxBlock);
    QVERIFY(!mxfp4().groups_span_rows);
    std::vector<float> weights(64, 0.25F);
    weights[40] = 1024;
    const std::vector<float> row = rounded(weights);
    QVERIFY(row[0] == 0.25F && row[40] == 1024 && row[63] == 0);
  }

  void every_instruction_set_finds_the_same() {
    std::vector<float> weights;
    for (int i = 0; i < 32; ++i) weights.push_back(std::sin(static_cast<float>(i)) * 3);
    const CodeScale scale = mxfp4().scale_of(mxfp4(), weights);
    const std::vector<std::uint8_t> want = codes_of(weights, scale.scale);
    for (const std::string& isa : cpu_isas()) {
      const Encoders* encoders = encoders_of(isa);
      if (encoders == nullptr) continue;
      const Encoder& encoder = encoders->of[static_cast<std::size_t>(WeightFormat::mxfp4)];
      std::vector<std::uint8_t> got(weights.size());
      QCOMPARE(encoder.scale_of(mxfp4(), weights).scale, scale.scale);
      encoder.encode(mxfp4(), weights, scale, got.data());
      QCOMPARE(got, want);
    }
  }
};

LATHE_TEST(Mxfp4Test)

}  // namespace mxfp4_test
#include "mxfp4_test.moc"
