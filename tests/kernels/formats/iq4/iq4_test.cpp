// SPDX-License-Identifier: Apache-2.0
// IQ4: what codes stand for, and which scale weights get.
#include <QTest>
#include <cmath>
#include <vector>

#include "kernels/formats/bnb4/code_book.h"
#include "kernels/formats/format.h"
#include "kernels/formats/iq4/iq4_book.h"
#include "tests/support/test_class.h"

namespace iq4_test {

using namespace lathe::kernels;

namespace {

const CodedFormat& iq4() { return descriptor_of(WeightFormat::iq4).codes; }

float scale_of(const std::vector<float>& weights) { return iq4().scale_of(iq4(), weights).scale; }

}  // namespace

class Iq4Test : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Kernels multiply the numbers of the book themselves: they are whole numbers.
  void codes_are_whole_numbers_of_the_book() {
    const WholeBook<Iq4Book> whole;
    for (std::uint8_t code = 0; code < 16; ++code) {
      QCOMPARE(whole.codes[code] - 128, static_cast<int>(Iq4Book::kValues[code]));
      QCOMPARE(iq4().decode(iq4(), code, {.scale = -0.5F}), -0.5F * Iq4Book::kValues[code]);
      if (code > 0) QVERIFY(Iq4Book::kValues[code] > Iq4Book::kValues[code - 1]);
    }
    QCOMPARE(iq4().step, 1.0F);
  }

  void no_weight_lies_outside_the_book() {
    QCOMPARE(scale_of({-127, 5}), 1.0F);
    QCOMPARE(scale_of({226, -127}), 2.0F);
    QCOMPARE(scale_of({-254, 113}), 2.0F);
    QCOMPARE(scale_of({0, 0}), 0.0F);
  }

  void the_nearest_code_is_taken() {
    const std::vector<float> weights = {-200, -127, -100, 0, 1, 6.9F, 7.1F, 113, 500, NAN};
    std::vector<std::uint8_t> codes(weights.size());
    iq4().encode(iq4(), weights, {.scale = 1}, codes.data());
    QCOMPARE(codes, (std::vector<std::uint8_t>{0, 0, 1, 8, 8, 8, 9, 15, 15, 8}));
  }
};

LATHE_TEST(Iq4Test)

}  // namespace iq4_test
#include "iq4_test.moc"
