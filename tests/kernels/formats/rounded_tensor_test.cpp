// SPDX-License-Identifier: Apache-2.0
#include "kernels/api/rounded_tensor.h"

#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/api/coded_rows.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace rounded_tensor_test {

using namespace lathe::kernels;

namespace {

void in_one_go(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) { body(0, n); }

std::vector<float> row_of(WeightFormat format, const TensorView& source, std::int64_t row) {
  std::vector<float> numbers(static_cast<std::size_t>(source.dim(1)));
  RoundedTensor(format, source, in_one_go).row(row, numbers);
  return numbers;
}

}  // namespace

class RoundedTensorTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_wider_format_changes_nothing() {
    RandomNumbers numbers(1);
    const RandomTensor source(Dtype::bf16, {3, 50}, numbers);
    const std::vector<float> got = row_of(WeightFormat::f32, source.view(), 2);
    for (std::size_t i = 0; i < 50; ++i) QVERIFY(got[i] == bf16_to_f32(source.view().row<std::uint16_t>(2)[i]));
  }

  void a_narrower_format_rounds_to_nearest() {
    std::vector<float> weights = {1.00390625F, 1.0117188F, 1e-9F, 70000.0F};  // the first lies halfway between two of bf16
    const TensorView source(weights.data(), Dtype::f32, {1, 4});
    const std::vector<float> bf16 = row_of(WeightFormat::bf16, source, 0), f16 = row_of(WeightFormat::f16, source, 0);
    QVERIFY(bf16[0] == 1.0F && bf16[1] == 1.015625F && bf16[2] > 0);
    QVERIFY(f16[0] == 1.00390625F && f16[2] == 0 && std::isinf(f16[3]));
  }

  /// Rounded weights are numbers of the format: rounding them once more changes nothing.
  void rounding_twice_is_rounding_once() {
    RandomNumbers numbers(2);
    RandomTensor source(Dtype::f32, {1, 128}, numbers);
    for (const WeightFormat format :
         {WeightFormat::bf16, WeightFormat::nf4, WeightFormat::fp4, WeightFormat::int8_channel, WeightFormat::fp8_channel}) {
      std::vector<float> once = row_of(format, source.view(), 0);
      const std::vector<float> twice = row_of(format, {once.data(), Dtype::f32, {1, 128}}, 0);
      for (std::size_t i = 0; i < once.size(); ++i) QVERIFY(std::fabs(once[i] - twice[i]) <= 1e-6F);
    }
  }

  /// Its codes, read as those of a file, stand for the same numbers.
  void coded_rows_stand_for_the_numbers() {
    RandomNumbers numbers(3);
    const RandomTensor source(Dtype::f32, {2, 128}, numbers);
    for (const WeightFormat format : {WeightFormat::int8_g32, WeightFormat::int4_g32, WeightFormat::int4_g64_asym,
                                      WeightFormat::mxfp4, WeightFormat::int8_channel}) {
      const std::int64_t row_bytes = coded_row_bytes(format, 128);
      std::vector<std::byte> rows(static_cast<std::size_t>(2 * row_bytes));
      const RoundedTensor rounded(format, source.view(), in_one_go);
      const std::span<std::byte> all(rows);
      for (std::size_t r = 0; r < 2; ++r) {
        rounded.coded_row(static_cast<std::int64_t>(r), all.subspan(r * rows.size() / 2, rows.size() / 2));
      }
      const RoundedTensor stored(format, {rows.data(), Dtype::u8, {2, row_bytes}}, in_one_go);
      std::vector<float> got(128);
      for (std::int64_t r = 0; r < 2; ++r) {
        stored.row(r, got);
        QVERIFY(got == row_of(format, source.view(), r));
      }
    }
  }
};

LATHE_TEST(RoundedTensorTest)

}  // namespace rounded_tensor_test
#include "rounded_tensor_test.moc"
