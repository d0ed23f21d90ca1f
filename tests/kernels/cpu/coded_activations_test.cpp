// SPDX-License-Identifier: Apache-2.0
// How activations that meet weights in codes are rounded, and which are not.
#include <cmath>
#include <vector>

#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "tests/kernels/backends.h"
#include "tests/support/coded_product.h"
#include "tests/support/test_class.h"

namespace coded_activations_test {

using namespace lathe::kernels;
using namespace lathe::tests;

namespace {

const TensorView kNoBias;

}  // namespace

class CodedActivationsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void activations_next_to_nothing_give_zeros_data() { add_isa_rows(); }
  void activations_next_to_nothing_give_zeros() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(10);
    const RandomTensor weights(Dtype::f32, {20, 140}, numbers);
    const RandomTensor x({2, 140}), out(Dtype::f32, {2, 20}, numbers);
    for (std::int64_t i = 0; i < 140; ++i) x.view().row<float>(1)[i] = i % 2 == 0 ? 1e-40F : -3e-39F;
    backend->linear(out.view(), x.view(), *packed(*backend, WeightFormat::int8_g32, weights.view()), kNoBias);
    for (std::int64_t i = 0; i < 40; ++i) QCOMPARE(out.view().as<float>()[i], 0.0F);
  }

  /// An activation of 6 and more is multiplied as it is; nothing is lost but the weight's own rounding.
  void outliers_are_multiplied_as_they_are_data() { add_isa_rows(); }
  void outliers_are_multiplied_as_they_are() {
    const auto backend = backend_of_row();
    RandomNumbers numbers(11);
    const RandomTensor weights(Dtype::f32, {37, 128}, numbers);
    const RandomTensor x({3, 128}), got({3, 37});
    x.view().row<float>(0)[5] = 6.125F;      // the only number of its row
    x.view().row<float>(1)[127] = -1000.0F;  // beside one that would be lost in its scale
    x.view().row<float>(1)[0] = 0.01F;
    x.view().row<float>(2)[9] = 5.9999F;  // just none
    backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::llm_int8, weights.view()), kNoBias);
    const TensorCodes tensor = codes_of(WeightFormat::llm_int8, weights.view());
    std::vector<float> row(128);
    for (std::int64_t n = 0; n < 37; ++n) {
      tensor.decoded_row(n, row);
      QVERIFY(std::fabs(got.view().row<float>(0)[n] - 6.125F * row[5]) <= 1e-5F);
      QVERIFY(std::fabs(got.view().row<float>(1)[n] - (-1000.0F * row[127] + 0.01F * row[0])) <= 1e-3F);
      QVERIFY(std::fabs(got.view().row<float>(2)[n] - 5.9999F * row[9]) <= 1e-4F);
    }
  }

  /// The scale of a token is that of its largest activation, wherever it lies; a block of its own has one of its own.
  void a_token_has_one_scale_for_dynamic_int8_data() { add_isa_rows(); }
  void a_token_has_one_scale_for_dynamic_int8() {
    const auto backend = backend_of_row();
    const RandomTensor weights({16, 256}), x({1, 256}), channel({1, 16}), grouped({1, 16});
    for (std::int64_t i = 0; i < 16 * 256; ++i) weights.view().as<float>()[i] = i % 256 < 128 ? 1.0F : 0.0F;
    x.view().as<float>()[0] = 0.003F;  // less than half a step of 127 / 127
    x.view().as<float>()[200] = 127.0F;
    backend->linear(channel.view(), x.view(), *packed(*backend, WeightFormat::int8_channel, weights.view()), kNoBias);
    backend->linear(grouped.view(), x.view(), *packed(*backend, WeightFormat::int8_g128, weights.view()), kNoBias);
    QCOMPARE(channel.view().as<float>()[3], 0.0F);
    QVERIFY(std::fabs(grouped.view().as<float>()[3] - 0.003F) < 1e-5F);
  }

  /// Activations become what the definition says, halves and subnormal numbers of e4m3 among them.
  void activations_are_rounded_to_e4m3_data() { add_isa_rows(); }
  void activations_are_rounded_to_e4m3() {
    const auto backend = backend_of_row();
    constexpr std::int64_t kRows = 2000;
    const RandomTensor weights({16, 2}), x({kRows, 2}), got({kRows, 16});
    for (std::int64_t n = 0; n < 16; ++n) weights.view().row<float>(n)[0] = 448;  // times its scale: exactly 448
    for (std::int64_t m = 0; m < kRows; ++m) {
      x.view().row<float>(m)[0] = static_cast<float>(m - kRows / 2) * (m % 2 == 0 ? 0x1p-11F : 0.4375F);
      x.view().row<float>(m)[1] = 448;  // so that the scale of the row is 1
    }
    backend->linear(got.view(), x.view(), *packed(*backend, WeightFormat::fp8_channel, weights.view()), kNoBias);
    for (std::int64_t m = 0; m < kRows; ++m) {
      QCOMPARE(got.view().row<float>(m)[7], e4m3_to_f32(f32_to_e4m3(x.view().row<float>(m)[0])) * 448);
    }
  }

  /// Halves go to the even neighbour. A weight of 127 has the scale 1, and so has a block whose largest number is 127.
  void activations_are_rounded_to_the_nearest_code_data() { add_isa_rows(); }
  void activations_are_rounded_to_the_nearest_code() {
    const auto backend = backend_of_row();
    const RandomTensor weights({128, 128}), x({7, 128}), got({7, 128});
    for (std::int64_t i = 0; i < 128; ++i) weights.view().row<float>(i)[i] = 127;
    for (std::int64_t i = 0; i < 7 * 128; ++i) {
      x.view().as<float>()[i] = i % 128 == 0 ? -127.0F : static_cast<float>(i % 128) * 0.25F - 16.0F;
    }
    for (const WeightFormat format : {WeightFormat::int8_g32, WeightFormat::int8_g128, WeightFormat::int8_channel}) {
      backend->linear(got.view(), x.view(), *packed(*backend, format, weights.view()), kNoBias);
      for (std::int64_t i = 0; i < 7 * 128; ++i) {
        QCOMPARE(got.view().as<float>()[i], 127 * std::nearbyint(x.view().as<float>()[i]));
      }
    }
  }
};

LATHE_TEST(CodedActivationsTest)

}  // namespace coded_activations_test
#include "coded_activations_test.moc"
