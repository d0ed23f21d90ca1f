// SPDX-License-Identifier: Apache-2.0
// The vectors that formats round with, number by number.
#include "kernels/formats/codes/rounding.h"

#include <QTest>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace rounding_test {

using namespace lathe::kernels;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<std::uint8_t> encoded(WeightFormat format, const std::vector<float>& weights, const CodeScale& scale) {
  const CodedFormat& codes = descriptor_of(format).codes;
  std::vector<std::uint8_t> out(weights.size());
  codes.encode(codes, weights, scale, out.data());
  return out;
}

/// The number of a book that is nearest to x; of two, the lower.
template <class Book>
float nearest(double x) {
  float best = -2;
  for (const float value : Book::kValues) {
    const double gain = std::fabs(x - best) - std::fabs(x - value);
    if (gain > 0 || (gain == 0 && value < best)) best = value;
  }
  return best;
}

}  // namespace

class RoundingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void halves_go_to_even() {
    for (const auto& [x, want] :
         {std::pair{0.5F, 0.0F}, {1.5F, 2.0F}, {2.5F, 2.0F}, {-0.5F, 0.0F}, {-1.5F, -2.0F}, {126.5F, 126.0F}}) {
      QCOMPARE(to_nearest(x), want);
      QCOMPARE(to_nearest(Floats{} + x)[kLanes - 1], want);
    }
  }

  void bounds_hold_and_what_is_no_number_becomes_zero() {
    const float numbers[] = {-3, -1, 0.25F, 2, 7, kNan, kInfinity, -kInfinity};
    const float want[] = {-1, -1, 0.25F, 2, 2, 0, 2, -1};
    for (std::size_t i = 0; i < std::size(numbers); ++i) QCOMPARE(bounded(Floats{} + numbers[i], -1, 2)[0], want[i]);
  }

  void extents_pass_over_what_is_no_number() {
    const std::vector<float> numbers = {kNan, -2, 1, kNan, 3, -0.0F};
    const Extent extent = extent_of(numbers.data(), numbers.size());
    QCOMPARE(extent.least, -2.0F);
    QCOMPARE(extent.greatest, 3.0F);
    QCOMPARE(extent.magnitude(), 3.0F);
    QCOMPARE(extent_of(numbers.data(), 1).magnitude(), 0.0F);
    QCOMPARE(extent_of(numbers.data(), 0).magnitude(), 0.0F);
    QCOMPARE(largest_magnitude(numbers.data(), 3), 2.0F);
  }

  void codes_end_where_the_numbers_end() {
    for (std::size_t n = 0; n <= 3 * kLanes + 1; ++n) {
      std::vector<float> weights(n);
      std::iota(weights.begin(), weights.end(), 1.0F);
      std::vector<std::uint8_t> codes(n + 1, 0xee);
      encode_each(weights.data(), n, codes.data(), [](Floats x) { return __builtin_convertvector(x, Ints); });
      for (std::size_t i = 0; i < n; ++i) QCOMPARE(codes[i], static_cast<std::uint8_t>(i + 1));
      QCOMPARE(codes[n], std::uint8_t{0xee});
    }
  }

  void books_give_the_nearest_number() {
    RandomNumbers numbers(3);
    const RandomTensor tensor(Dtype::f32, {1, 4000}, numbers);
    std::vector<float> weights(tensor.view().as<float>(), tensor.view().as<float>() + 4000);
    const std::vector<std::uint8_t> nf4 = encoded(WeightFormat::nf4, weights, {1}),
                                    fp4 = encoded(WeightFormat::fp4, weights, {1});
    for (std::size_t i = 0; i < weights.size(); ++i) {
      QCOMPARE(Nf4Book::kValues[nf4[i]], nearest<Nf4Book>(weights[i]));
      QCOMPARE(Fp4Book::kValues[fp4[i]], nearest<Fp4Book>(weights[i]));
    }
  }

  void numbers_beyond_the_scale_get_its_ends() {
    QCOMPARE(encoded(WeightFormat::nf4, {-9, 9, kInfinity, -kInfinity, kNan}, {1}),
             (std::vector<std::uint8_t>{0, 15, 15, 0, 7}));
    QCOMPARE(encoded(WeightFormat::int8_g32, {-900, 900, kInfinity, kNan}, {1}),
             (std::vector<std::uint8_t>{1, 255, 255, 128}));
    QCOMPARE(encoded(WeightFormat::int4_g32, {-900, 900, 3, kNan}, {1}), (std::vector<std::uint8_t>{0, 15, 11, 8}));
    QCOMPARE(encoded(WeightFormat::int8_channel, {-900, 900, 0.5F, kNan}, {1}),
             (std::vector<std::uint8_t>{1, 255, 128, 128}));
  }

  void groups_of_zeros_have_the_middle() {
    for (const FormatDescriptor& format : weight_formats()) {
      if (!format.is_coded() || format.codes.encode == nullptr) continue;
      const std::vector<float> zeros(64, 0.0F);
      const CodeScale scale = format.codes.scale_of(format.codes, zeros);
      for (const std::uint8_t code : encoded(format.format, zeros, scale)) {
        QCOMPARE(format.codes.decode(format.codes, code, scale), 0.0F);
      }
    }
  }

  /// Four bits take the weight of the largest magnitude for -8 steps; of two the first.
  void the_largest_weight_decides_the_sign_of_the_scale() {
    const CodedFormat& format = descriptor_of(WeightFormat::int4_g32).codes;
    const auto scale = [&](std::vector<float> weights) { return format.scale_of(format, weights).scale; };
    QCOMPARE(scale({1, -8, 3}), 1.0F);
    QCOMPARE(scale({1, 8, -3}), -1.0F);
    QCOMPARE(scale({1, 8, -8}), -1.0F);
    QCOMPARE(scale({1, -8, 8}), 1.0F);
    QCOMPARE(scale({1, kNan, -8}), 1.0F);
    QCOMPARE(scale({1, 1e30F}), -65504.0F);  // the largest f16
  }

  void zero_points_let_all_codes_be_used() {
    const CodedFormat& format = descriptor_of(WeightFormat::int4_g32_asym).codes;
    const auto scale = [&](std::vector<float> weights) { return format.scale_of(format, weights); };
    const auto check = [&](std::vector<float> weights, float step, float zero, const std::vector<std::uint8_t>& codes) {
      const CodeScale got = scale(weights);
      QCOMPARE(got.scale, step);
      QCOMPARE(got.zero, zero);
      QCOMPARE(encoded(WeightFormat::int4_g32_asym, weights, got), codes);
    };
    check({-2.5F, 0, 5}, 0.5F, 5, {0, 5, 15});
    check({3, 7.5F, 6}, 0.5F, 0, {6, 15, 12});           // 0 is counted among them
    check({-30, -14, -1}, 2, 15, {0, 8, 15});            // half a step goes to the even number of steps
    check({kNan, -2.5F, 5}, 0.5F, 5, {5, 0, 15});        // what is no number becomes 0
    check({kInfinity, -kInfinity}, 65504, 15, {15, 0});  // the largest f16; nothing is left above the zero point
    check({0, 0}, 0, 8, {8, 8});
    QCOMPARE(descriptor_of(WeightFormat::int8_g128_asym).codes.scale_of(format, std::vector<float>{-1, 1}).zero, 8.0F);
  }
};

LATHE_TEST(RoundingTest)

}  // namespace rounding_test
#include "rounding_test.moc"
