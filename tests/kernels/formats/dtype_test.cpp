// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/api/dtype.h"
#include "kernels/formats/element.h"
#include "kernels/formats/format.h"
#include "tests/support/test_class.h"

namespace dtype_test {

using namespace lathe::kernels;

namespace {
constexpr float kInfinity = std::numeric_limits<float>::infinity();
}

class DtypeTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_f16_survives_f32_and_back() {
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
      const auto half = static_cast<std::uint16_t>(bits);
      const float value = f16_to_f32(half);
      if (std::isnan(value)) continue;
      QCOMPARE(f32_to_f16(value), half);
    }
  }

  void rows_of_f16_are_widened_as_single_numbers_are() {
    std::vector<std::uint16_t> halves(0x10000);
    for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
    std::vector<float> wide(halves.size());
    load_elements(halves.data(), Dtype::f16, 0, wide);
    for (std::size_t i = 0; i < halves.size(); ++i) {
      QCOMPARE(std::bit_cast<std::uint32_t>(wide[i]), std::bit_cast<std::uint32_t>(f16_to_f32(halves[i])));
    }
  }

  void f16_has_the_values_of_the_standard() {
    QCOMPARE(f16_to_f32(0x3c00), 1.0F);
    QCOMPARE(f16_to_f32(0xc000), -2.0F);
    QCOMPARE(f16_to_f32(0x7bff), 65504.0F);
    QCOMPARE(f16_to_f32(0x0001), 0x1p-24F);
    QCOMPARE(f16_to_f32(0x7c00), kInfinity);
    QVERIFY(std::isnan(f16_to_f32(0x7e01)));
  }

  void f16_rounds_to_nearest_even() {
    QCOMPARE(f32_to_f16(1.0F + 0x1p-11F), std::uint16_t{0x3c00});  // half way, to even
    QCOMPARE(f32_to_f16(1.0F + 3 * 0x1p-11F), std::uint16_t{0x3c02});
    QCOMPARE(f32_to_f16(1.0F + 0x1p-11F + 0x1p-20F), std::uint16_t{0x3c01});
    QCOMPARE(f32_to_f16(0x1p-25F), std::uint16_t{0});
    QCOMPARE(f32_to_f16(0x1.8p-25F), std::uint16_t{1});
  }

  void f16_overflow_gives_infinity() {
    QCOMPARE(f32_to_f16(65519.0F), std::uint16_t{0x7bff});
    QCOMPARE(f32_to_f16(65520.0F), std::uint16_t{0x7c00});
    QCOMPARE(f32_to_f16(-1e30F), std::uint16_t{0xfc00});
  }

  void f16_keeps_the_sign_of_zero() { QCOMPARE(f32_to_f16(-0.0F), std::uint16_t{0x8000}); }

  void every_number_of_8_bits_survives_f32_and_back() {
    for (int bits = 0; bits < 256; ++bits) {
      const auto code = static_cast<std::uint8_t>(bits);
      const float e4m3 = e4m3_to_f32(code);
      if (!std::isnan(e4m3)) QCOMPARE(f32_to_e4m3(e4m3), code);
      const float e5m2 = e5m2_to_f32(code);
      if (std::isfinite(e5m2)) QCOMPARE(f32_to_e5m2(e5m2), code);
    }
  }

  void numbers_of_8_bits_have_the_values_of_the_standard() {
    QCOMPARE(e4m3_to_f32(0x38), 1.0F);
    QCOMPARE(e4m3_to_f32(0x7e), 448.0F);
    QCOMPARE(e4m3_to_f32(0x01), 0x1p-9F);
    QVERIFY(std::isnan(e4m3_to_f32(0x7f)) && std::isnan(e4m3_to_f32(0xff)));
    QCOMPARE(e5m2_to_f32(0xbc), -1.0F);
    QCOMPARE(e5m2_to_f32(0x7b), 57344.0F);
    QCOMPARE(e5m2_to_f32(0x01), 0x1p-16F);
    QCOMPARE(e5m2_to_f32(0x7c), kInfinity);
  }

  void numbers_of_8_bits_are_the_nearest_and_of_two_the_even_one() {
    std::vector<float> numbers;
    for (std::uint8_t code = 0; code < 0x7f; ++code) numbers.push_back(e4m3_to_f32(code));
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const float middle = (numbers[i] + numbers[i + 1]) / 2;
      QCOMPARE(f32_to_e4m3(middle), static_cast<std::uint8_t>(i % 2 == 0 ? i : i + 1));
      QCOMPARE(f32_to_e4m3(std::nextafter(middle, 0.0F)), static_cast<std::uint8_t>(i));
      QCOMPARE(f32_to_e4m3(-std::nextafter(middle, kInfinity)), static_cast<std::uint8_t>(0x80 + i + 1));
    }
    QCOMPARE(f32_to_e5m2(1.125F), std::uint8_t{0x3c});
    QCOMPARE(f32_to_e5m2(1.375F), std::uint8_t{0x3e});
    QCOMPARE(f32_to_e5m2(0x1p-17F), std::uint8_t{0});
    QCOMPARE(f32_to_e5m2(0x1.8p-16F), std::uint8_t{2});
  }

  void numbers_of_8_bits_end_at_the_largest() {
    QCOMPARE(f32_to_e4m3(1e9F), std::uint8_t{0x7e});
    QCOMPARE(f32_to_e4m3(-kInfinity), std::uint8_t{0xfe});
    QCOMPARE(f32_to_e5m2(1e9F), std::uint8_t{0x7b});
    QVERIFY(std::isnan(e4m3_to_f32(f32_to_e4m3(std::nanf("")))));
    QVERIFY(std::isnan(e5m2_to_f32(f32_to_e5m2(std::nanf("")))));
  }

  void every_bf16_survives_f32_and_back() {
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
      const float value = bf16_to_f32(static_cast<std::uint16_t>(bits));
      if (!std::isnan(value)) QCOMPARE(f32_to_bf16(value), static_cast<std::uint16_t>(bits));
    }
  }

  void bf16_rounds_to_nearest_even() {
    QCOMPARE(f32_to_bf16(1.0F + 0x1p-8F), std::uint16_t{0x3f80});
    QCOMPARE(f32_to_bf16(1.0F + 3 * 0x1p-8F), std::uint16_t{0x3f82});
    QCOMPARE(f32_to_bf16(3.4e38F), std::uint16_t{0x7f80});
  }

  void nan_stays_nan() {
    const float nan = std::bit_cast<float>(0x7f800001U);  // its payload lies below the bits that are kept
    QVERIFY(std::isnan(bf16_to_f32(f32_to_bf16(nan))));
    QVERIFY(std::isnan(f16_to_f32(f32_to_f16(nan))));
  }

  void sizes_and_names_agree() {
    QCOMPARE(size_of(Dtype::bf16), std::size_t{2});
    QCOMPARE(size_of(Dtype::i64), std::size_t{8});
    QCOMPARE(name_of(Dtype::bf16), std::string_view("bfloat16"));
    QVERIFY(is_floating(Dtype::f16));
    QVERIFY(!is_floating(Dtype::i32));
  }

  void elements_of_any_floating_type_read_back() {
    for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
      float memory[2] = {};
      store_element(memory, dtype, 1, -1.5F);
      QCOMPARE(load_element(memory, dtype, 1), -1.5F);
      QCOMPARE(load_element(memory, dtype, 0), 0.0F);
    }
  }

  void the_table_of_formats_is_in_the_order_of_the_enumeration() {
    for (std::size_t i = 0; i < weight_formats().size(); ++i) {
      QCOMPARE(static_cast<std::size_t>(weight_formats()[i].format), i);
      QCOMPARE(&descriptor_of(weight_formats()[i].format), &weight_formats()[i]);
    }
  }
};

LATHE_TEST(DtypeTest)

}  // namespace dtype_test
#include "dtype_test.moc"
