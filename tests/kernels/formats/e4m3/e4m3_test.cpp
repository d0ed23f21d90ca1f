// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/e4m3/e4m3.h"

#include <QTest>
#include <limits>
#include <vector>

#include "kernels/api/dtype.h"
#include "kernels/formats/tensor_codes.h"
#include "tests/support/test_class.h"

namespace e4m3_test {

using namespace lathe::kernels;

namespace {

struct Quantized {
  std::vector<std::uint8_t> codes;
  float scale = 0;
};

const CodedFormat kFormat = e4m3_format(ActivationScale::row);

Quantized quantized(const std::vector<float>& weights) {
  Quantized result{.codes = std::vector<std::uint8_t>(weights.size()), .scale = kFormat.scale_of(kFormat, weights).scale};
  kFormat.encode(kFormat, weights, {result.scale}, result.codes.data());
  return result;
}

}  // namespace

class E4m3Test : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_row_by_hand() {
    // The scale is 896 / 448 = 2. Of 17 and 19, halves between 16, 18 and 20, the even fraction wins.
    const Quantized got = quantized({896, -896, 0, 2, 34, 38, -3.2F, 0x1p-9F, 0x1p-8F});
    QCOMPARE(got.scale, 2.0F);
    QCOMPARE(got.codes, (std::vector<std::uint8_t>{0x7e, 0xfe, 0x00, 0x38, 0x58, 0x5a, 0xbd, 0x00, 0x01}));
    QCOMPARE(kFormat.decode(kFormat, got.codes[4], {got.scale}), 32.0F);
    QCOMPARE(kFormat.decode(kFormat, got.codes[6], {got.scale}), -3.25F);
  }

  /// As f32 gives them: nothing is rounded but the code, the scale and their product.
  void it_is_bit_by_bit_its_definition() {
    std::vector<float> weights;
    for (int i = 0; i < 500; ++i) weights.push_back(static_cast<float>((i * 7919) % 1001 - 500) / 3777.0F);
    const Quantized got = quantized(weights);
    const float scale = (500.0F / 3777.0F) / 448.0F;
    QVERIFY(got.scale == scale);
    for (std::size_t i = 0; i < weights.size(); ++i) {
      QCOMPARE(got.codes[i], f32_to_e4m3(weights[i] / scale));
      QVERIFY(kFormat.decode(kFormat, got.codes[i], {scale}) == e4m3_to_f32(got.codes[i]) * scale);
    }
  }

  void zeros_stay_zeros() {
    const Quantized got = quantized({0, 0, 0});
    for (const std::uint8_t code : got.codes) QVERIFY(kFormat.decode(kFormat, code, {got.scale}) == 0);
  }

  void what_is_no_number_harms_no_other_weight() {
    const Quantized nan = quantized({std::numeric_limits<float>::quiet_NaN(), 4, -2});
    QVERIFY(kFormat.decode(kFormat, nan.codes[0], {nan.scale}) == 0);
    QCOMPARE(kFormat.decode(kFormat, nan.codes[1], {nan.scale}), 4.0F);
    const Quantized infinite = quantized({std::numeric_limits<float>::infinity(), 4});
    QVERIFY(kFormat.decode(kFormat, infinite.codes[0], {infinite.scale}) > 1e38F);
    QVERIFY(kFormat.decode(kFormat, infinite.codes[1], {infinite.scale}) == 0);
  }

  /// The second of two groups has the largest weights of the row, and the first codes of its own size all the same.
  void groups_have_scales_of_their_own() {
    const CodedFormat format = e4m3_group_format(4);
    QVERIFY(format.group == 4 && format.scales == ScaleLayout::single && format.activations == ActivationScale::none);
    const std::vector<float> row = {4.48F, -1, 0.01F, 0, 448, 896, 2};  // and is shorter
    const TensorCodes codes(format, {const_cast<float*>(row.data()), Dtype::f32, {1, 7}},
                            [](std::int64_t n, const auto& body) { body(0, n); });
    std::vector<float> weights(7);
    std::vector<std::uint8_t> bytes(7);
    std::vector<CodeScale> scales(static_cast<std::size_t>(codes.scales_of_row()));
    codes.row(0, weights, bytes, scales);
    QCOMPARE(scales.size(), std::size_t{2});
    QVERIFY(scales[0].scale == 4.48F / 448 && scales[1].scale == 2);
    QCOMPARE(bytes, (std::vector<std::uint8_t>{0x7e, 0xec, 0x38, 0x00, 0x76, 0x7e, 0x38}));
    codes.decoded_row(0, weights);
    for (std::size_t i = 0; i < 7; ++i) QVERIFY(weights[i] == e4m3_to_f32(bytes[i]) * scales[i / 4].scale);
  }

  /// 0x7f and 0xff stand for NaN, which kernels do not look for.
  void no_code_is_a_nan() {
    const Quantized got = quantized({448, 1e30F, -3e38F, std::numeric_limits<float>::quiet_NaN(), -0.0F});
    for (const std::uint8_t code : got.codes) QVERIFY((code & 0x7fU) != 0x7fU);
  }
};

LATHE_TEST(E4m3Test)

}  // namespace e4m3_test
#include "e4m3_test.moc"
