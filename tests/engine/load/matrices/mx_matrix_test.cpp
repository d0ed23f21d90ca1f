// SPDX-License-Identifier: Apache-2.0
#include "engine/load/matrices/mx_matrix.h"

#include <QTest>
#include <cmath>
#include <vector>

#include "tests/support/test_class.h"

namespace mx_matrix_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

constexpr std::int64_t kRows = 3, kBlocks = 2;

/// Byte i of the codes holds halves of i and i + 1; scales count up from 2^-1.
std::vector<std::byte> counted(std::size_t n, unsigned first) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::byte>((first + i) & 255U);
  return bytes;
}

const std::vector<std::byte>& codes() {
  static const std::vector<std::byte> bytes = counted(kRows * kBlocks * kMxBlockBytes, 16);
  return bytes;
}
const std::vector<std::byte>& scales() {
  static const std::vector<std::byte> bytes = counted(kRows * kBlocks, 126);
  return bytes;
}

MxMatrix matrix(bool halves_apart) {
  return {.n = kRows, .k = kBlocks * kMxBlock, .codes = codes(), .scales = scales(), .halves_apart = halves_apart};
}

std::vector<float> numbers(const CodedTensor& coded) {
  std::vector<float> all(static_cast<std::size_t>(coded.n_rows * coded.k));
  decode(coded, {}, all.data());
  return all;
}

float value_of(unsigned code) {
  constexpr float kValues[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  return code < 8 ? kValues[code] : -kValues[code - 8];
}

}  // namespace

class MxMatrixTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void scales_are_powers_of_two() {
    QCOMPARE(power_of_e8m0(std::byte{127}), 1.0F);
    QCOMPARE(power_of_e8m0(std::byte{129}), 4.0F);
    QCOMPARE(power_of_e8m0(std::byte{1}), std::ldexp(1.0F, -126));
    QCOMPARE(power_of_e8m0(std::byte{0}), std::ldexp(1.0F, -127));
    QCOMPARE(power_of_e8m0(std::byte{254}), std::ldexp(1.0F, 127));
    QVERIFY(std::isinf(power_of_e8m0(std::byte{255})));
  }

  void codes_lie_in_turns_or_apart() {
    const std::vector<float> in_turns = numbers(coded_of(matrix(false))), apart = numbers(coded_of(matrix(true)));
    for (std::size_t block = 0; block < kRows * kBlocks; ++block) {
      const float scale = std::ldexp(1.0F, static_cast<int>(block) - 1);
      for (std::size_t i = 0; i < kMxBlockBytes; ++i) {
        const auto both = std::to_integer<unsigned>(codes()[block * kMxBlockBytes + i]);
        const float low = value_of(both & 15U) * scale, high = value_of(both >> 4) * scale;
        QCOMPARE(in_turns[block * kMxBlock + 2 * i], low);
        QCOMPARE(in_turns[block * kMxBlock + 2 * i + 1], high);
        QCOMPARE(apart[block * kMxBlock + i], low);
        QCOMPARE(apart[block * kMxBlock + kMxBlockBytes + i], high);
      }
    }
  }

  /// As GGUF files have them: a scale, then its codes.
  void scales_may_lie_among_the_codes() {
    std::vector<std::byte> blocks;
    for (std::size_t block = 0; block < kRows * kBlocks; ++block) {
      blocks.push_back(scales()[block]);
      const auto begin = codes().begin() + static_cast<std::ptrdiff_t>(block) * kMxBlockBytes;
      blocks.insert(blocks.end(), begin, begin + kMxBlockBytes);
    }
    MxMatrix mixed = matrix(true);
    mixed.codes = std::span(blocks).subspan(1);
    mixed.scales = blocks;
    mixed.code_stride = mixed.scale_stride = 1 + kMxBlockBytes;
    QCOMPARE(numbers(coded_of(mixed)), numbers(coded_of(matrix(true))));
  }

  void a_weight_format_keeps_the_codes() {
    const CodedTensor coded = coded_of(matrix(false));
    QVERIFY(!coded.formats.empty() && coded.formats.front() == kernels::WeightFormat::mxfp4);
    QVERIFY(coded.form != coded_of(matrix(true)).form);  // the same bytes are other weights
  }
};

LATHE_TEST(MxMatrixTest)

}  // namespace mx_matrix_test
#include "mx_matrix_test.moc"
