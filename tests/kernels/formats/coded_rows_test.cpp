// SPDX-License-Identifier: Apache-2.0
// Codes that are there already: how their rows are written, and that a format makes of them what it makes of its own.
#include "kernels/api/coded_rows.h"

#include <QTest>
#include <cstring>

#include "kernels/api/rounded_tensor.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace coded_rows_test {

using namespace lathe::kernels;

namespace {

void in_one_go(std::int64_t n, const std::function<void(std::int64_t, std::int64_t)>& body) { body(0, n); }

std::vector<std::byte> written(WeightFormat format, const CodedRow& row) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(coded_row_bytes(format, std::ssize(row.codes))));
  write_coded_row(format, row, bytes.data());
  return bytes;
}

std::uint8_t byte_of(const std::vector<std::byte>& bytes, std::size_t i) { return std::to_integer<std::uint8_t>(bytes[i]); }

}  // namespace

class CodedRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Bit by bit what files of bitsandbytes say of themselves (quant_map); whole numbers about their middle.
  void codes_stand_for_the_numbers_of_their_book() {
    const std::vector<float> nf4 = {-1.0F,
                                    -0.6961928009986877F,
                                    -0.5250730514526367F,
                                    -0.39491748809814453F,
                                    -0.28444138169288635F,
                                    -0.18477343022823334F,
                                    -0.09105003625154495F,
                                    0.0F,
                                    0.07958029955625534F,
                                    0.16093020141124725F,
                                    0.24611230194568634F,
                                    0.33791524171829224F,
                                    0.44070982933044434F,
                                    0.5626170039176941F,
                                    0.7229568362236023F,
                                    1.0F};
    QVERIFY(numbers_of_codes(WeightFormat::nf4) == nf4);
    QVERIFY(numbers_of_codes(WeightFormat::nf4_weight_only) == nf4);
    const std::vector<float> fp4 = numbers_of_codes(WeightFormat::fp4);
    QCOMPARE(fp4.size(), std::size_t{16});
    QVERIFY(fp4[1] == 0.0625F / 12 && fp4[3] == 1 && fp4[5] == 0.5F && fp4[12] == -4.0F / 12);
    const std::vector<float> four = numbers_of_codes(WeightFormat::int4_g32);
    for (int i = 0; i < 16; ++i) QCOMPARE(four[static_cast<std::size_t>(i)], static_cast<float>(i - 8));
    QCOMPARE(numbers_of_codes(WeightFormat::fp8_weight_only)[0x38], 1.0F);
  }

  /// A tensor's codes and scales, taken out and put in again, give the same numbers.
  void codes_of_a_format_come_back_as_its_numbers() {
    RandomNumbers numbers(3);
    constexpr std::int64_t kRows = 3;
    for (const std::int64_t k : {64, 192, 256}) {
      const RandomTensor source(Dtype::f32, {kRows, k}, numbers);
      for (const FormatDescriptor& format : weight_formats()) {
        if (coded_row_bytes(format.format, k) == 0) continue;
        const TensorCodes codes(format.codes, source.view(), in_one_go);
        const RoundedTensor want(format.format, source.view(), in_one_go);
        std::vector<float> weights(static_cast<std::size_t>(k)), again = weights;
        std::vector<std::uint8_t> row(weights.size());
        std::vector<CodeScale> scales(static_cast<std::size_t>(codes.scales_of_row()));
        for (std::int64_t n = 0; n < kRows; ++n) {
          codes.row(n, weights, row, scales);
          std::vector<float> of_groups, zeros;
          for (const CodeScale& scale : scales) {
            of_groups.push_back(scale.scale);
            if (has_zero_points(format.format)) zeros.push_back(scale.zero);
          }
          std::vector<std::byte> bytes = written(format.format, {row, of_groups, zeros});
          const RoundedTensor got(format.format, {bytes.data(), Dtype::u8, {1, std::ssize(bytes)}}, in_one_go);
          want.row(n, weights);
          got.row(0, again);
          QVERIFY2(std::memcmp(weights.data(), again.data(), weights.size() * sizeof(float)) == 0, format.name.data());
        }
      }
    }
  }

  void blocks_of_gguf_are_written_as_gguf_has_them() {
    std::vector<std::uint8_t> codes(32);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::uint8_t>(i / 2);
    const float scale[] = {0.5F};
    const auto of_bytes = written(WeightFormat::int8_g32, {codes, scale, {}});
    QCOMPARE(of_bytes.size(), std::size_t{34});
    QCOMPARE(byte_of(of_bytes, 0) | byte_of(of_bytes, 1) << 8, 0x3800);  // 0.5 in f16
    QCOMPARE(byte_of(of_bytes, 2), std::uint8_t{128});                   // code 0 stands for -128
    QCOMPARE(byte_of(of_bytes, 33), std::uint8_t{128 + 15});
    const auto of_halves = written(WeightFormat::int4_g32, {codes, scale, {}});
    QCOMPARE(of_halves.size(), std::size_t{18});
    QCOMPARE(byte_of(of_halves, 2), std::uint8_t{8 << 4});  // code 0, and code 16 above it
    QCOMPARE(byte_of(of_halves, 17), std::uint8_t{7 | 15 << 4});
  }

  void facts_of_formats_are_told() {
    QVERIFY(has_zero_points(WeightFormat::int4_g64_asym) && !has_zero_points(WeightFormat::int4_g64));
    QVERIFY(has_half_scales(WeightFormat::int8_g128) && has_half_scales(WeightFormat::int8_g128_asym));
    QVERIFY(!has_half_scales(WeightFormat::int8_channel) && !has_half_scales(WeightFormat::nf4));
    QCOMPARE(group_of(WeightFormat::int4_g64, 100), 64);
    QCOMPARE(group_of(WeightFormat::fp8_weight_only, 100), 100);
  }
};

LATHE_TEST(CodedRowsTest)

}  // namespace coded_rows_test
#include "coded_rows_test.moc"
