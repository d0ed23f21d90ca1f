// SPDX-License-Identifier: Apache-2.0
// Weights are rounded to the same bytes on every instruction set that this machine has.
#include "kernels/cpu/isa/encoders.h"

#include <QTest>
#include <cstring>
#include <limits>

#include "kernels/cpu/host_memory.h"
#include "kernels/cpu/isa/isa.h"
#include "kernels/cpu/panel_matrix.h"
#include "kernels/formats/codes/rounding.h"
#include "kernels/formats/format.h"
#include "kernels/selftest/random_tensor.h"
#include "tests/support/test_class.h"

namespace encoders_test {

using namespace lathe::kernels;

namespace {

constexpr std::int64_t kRows = 21;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

PanelMatrix packed(WeightFormat format, const TensorView& source, ThreadPool& pool, const Encoders* encoders) {
  const std::int64_t n = source.dim(0), k = source.dim(1);
  PanelMatrix matrix(format, n, k, allocate_host(PanelMatrix::bytes_for(format, n, k)));
  matrix.pack_rows(0, source, pool, encoders);
  return matrix;
}

/// Numbers that a careless loop rounds in another way: ties, zeros of both signs, tiny and huge ones, and none at all.
void spoil(const TensorView& source) {
  constexpr float kOdd[] = {0.0F, -0.0F, 0.5F, -0.5F, 1e-30F, 3e-41F, 6e-8F, -65519, 70000, kInfinity, -kInfinity, kNan};
  for (std::int64_t i = 0; i < source.n_elements(); i += 7) source.as<float>()[i] = kOdd[i / 7 % std::ssize(kOdd)];
  std::fill_n(source.as<float>(), 64, 0.0F);
}

}  // namespace

class EncodersTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_instruction_set_gives_the_same_bytes_data() {
    QTest::addColumn<QString>("isa");
    for (const IsaDescriptor& isa : isas()) {
      if (isa.is_available()) QTest::newRow(isa.name.data()) << QString::fromUtf8(isa.name.data());
    }
  }
  void every_instruction_set_gives_the_same_bytes() {
    QFETCH(QString, isa);
    ThreadPool pool(2);
    RandomNumbers numbers(1);
    for (const std::int64_t k : {7, 64, 100, 192, 1030}) {
      const RandomTensor plain(Dtype::f32, {kRows, k}, numbers), odd(Dtype::f32, {kRows, k}, numbers);
      spoil(odd.view());
      for (const FormatDescriptor& format : weight_formats()) {
        for (const TensorView& source : {plain.view(), odd.view()}) {
          const PanelMatrix want = packed(format.format, source, pool, nullptr);
          const PanelMatrix got = packed(format.format, source, pool, encoders_of(isa.toStdString()));
          QVERIFY2(std::memcmp(got.data(), want.data(), want.n_bytes()) == 0, format.name.data());
        }
      }
    }
  }

  void vector_sets_have_encoders_of_their_own() {
    QVERIFY(encoders_of("scalar") == nullptr);
    for (const char* isa : {"avx2", "avx2_vnni"}) QVERIFY(encoders_of(isa) == &kAvx2Encoders);
    for (const char* isa : {"avx512", "avx512_vnni", "avx512_bf16", "avx512_amx"})
      QVERIFY(encoders_of(isa) == &kAvx512Encoders);
    QVERIFY(kAvx2Encoders.of[static_cast<int>(WeightFormat::nf4)].encode != nullptr);
    QVERIFY(kAvx2Encoders.of[static_cast<int>(WeightFormat::bf16)].encode == nullptr);
  }

  void nearest_f16_is_that_of_the_type() {
    RandomNumbers numbers(2);
    const RandomTensor some(Dtype::f32, {1, 4096}, numbers);
    for (int power = -30; power <= 20; ++power) {
      for (std::int64_t i = 0; i < 4096; ++i) {
        const float x = std::ldexp(some.view().as<float>()[i], power);
        QCOMPARE(nearest_f16(x), f16_to_f32(f32_to_f16(x)));
      }
    }
    for (const float x : {65519.0F, 65520.0F, -kInfinity, 0x1p-25F, 0x1.8p-25F}) {
      QCOMPARE(nearest_f16(x), f16_to_f32(f32_to_f16(x)));
    }
    QVERIFY(std::isnan(nearest_f16(kNan)));
  }

  void the_largest_magnitude_is_found_anywhere() {
    for (std::size_t n = 1; n < 70; ++n) {
      for (std::size_t at = 0; at < n; ++at) {
        std::vector<float> numbers(n, 0.25F);
        numbers[at] = -3;
        QCOMPARE(largest_magnitude(numbers.data(), n), 3.0F);
        QCOMPARE(extent_of(numbers.data(), n).least, -3.0F);
        numbers[at] = kNan;
        QCOMPARE(largest_magnitude(numbers.data(), n), n == 1 ? 0.0F : 0.25F);
      }
    }
  }
};

LATHE_TEST(EncodersTest)

}  // namespace encoders_test
#include "encoders_test.moc"
