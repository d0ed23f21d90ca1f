// SPDX-License-Identifier: Apache-2.0
// Groups with a scale and a minimum: what codes stand for, and which ones weights get.
#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/formats/format.h"
#include "tests/support/test_class.h"

namespace minned_test {

using namespace lathe::kernels;

namespace {

constexpr float kNan = NAN;

const CodedFormat& four() { return descriptor_of(WeightFormat::int4_g32_min).codes; }

CodeScale scale_of(const std::vector<float>& weights) { return four().scale_of(four(), weights); }

std::vector<std::uint8_t> codes_of(const std::vector<float>& weights) {
  std::vector<std::uint8_t> codes(weights.size());
  four().encode(four(), weights, scale_of(weights), codes.data());
  return codes;
}

}  // namespace

class MinnedTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_code_counts_scales_from_the_minimum() {
    const CodeScale group{.scale = 0.5F, .zero = -3};
    QCOMPARE(four().decode(four(), 0, group), -3.0F);
    QCOMPARE(four().decode(four(), 6, group), 0.0F);
    QCOMPARE(four().decode(four(), 15, group), 4.5F);
  }

  /// Rounded once: a scale with all its 24 digits times 255 has 32, and what is left of it is exact.
  void nothing_is_lost_before_the_sum_is_rounded() {
    const CodedFormat& eight = descriptor_of(WeightFormat::int8_g16_min).codes;
    const CodeScale group{.scale = 1 + 0x1p-23F, .zero = -255};
    QCOMPARE(eight.decode(eight, 255, group), 255 * 0x1p-23F);
  }

  void weights_of_a_group_use_all_codes() {
    const CodeScale group = scale_of({2, 5, 9.5F});
    QCOMPARE(group.scale, 0.5F);
    QCOMPARE(group.zero, 2.0F);
    QCOMPARE(codes_of({2, 5, 9.5F}), (std::vector<std::uint8_t>{0, 6, 15}));
    QCOMPARE(codes_of({-9.5F, -5, -2}), (std::vector<std::uint8_t>{0, 9, 15}));
    QCOMPARE(codes_of({7, 7}), (std::vector<std::uint8_t>{0, 0}));  // the minimum alone
    QCOMPARE(scale_of({7, 7}).zero, 7.0F);
  }

  void what_is_no_number_gets_the_lowest_code() {
    QCOMPARE(codes_of({kNan, 1, 2.5F}), (std::vector<std::uint8_t>{0, 0, 15}));
    QCOMPARE(scale_of({kNan, kNan}).scale, 0.0F);
    QVERIFY(std::isfinite(scale_of({-3e38F, 3e38F}).scale));
  }

  void the_table_has_both_widths_and_groups() {
    for (const auto& [format, bits, group] :
         {std::tuple(WeightFormat::int4_g32_min, 4, 32), std::tuple(WeightFormat::int8_g32_min, 8, 32),
          std::tuple(WeightFormat::int4_g16_min, 4, 16), std::tuple(WeightFormat::int8_g16_min, 8, 16)}) {
      const CodedFormat& codes = descriptor_of(format).codes;
      QVERIFY(codes.bits == bits && codes.group == group && codes.has_minimums() && codes.has_zeros());
    }
    QVERIFY(!descriptor_of(WeightFormat::int4_g32_asym).codes.has_minimums());
  }
};

LATHE_TEST(MinnedTest)

}  // namespace minned_test
#include "minned_test.moc"
