// SPDX-License-Identifier: Apache-2.0
#include "kernels/formats/int8_channel/int8_channel.h"

#include <QTest>
#include <limits>
#include <vector>

#include "tests/support/test_class.h"

namespace int8_channel_test {

using namespace lathe::kernels;

namespace {

struct Quantized {
  std::vector<std::uint8_t> codes;
  float scale = 0;
};

Quantized quantized(const CodedFormat& format, const std::vector<float>& weights) {
  Quantized result{.codes = std::vector<std::uint8_t>(weights.size()), .scale = format.scale_of(format, weights).scale};
  format.encode(format, weights, {result.scale}, result.codes.data());
  return result;
}

}  // namespace

class Int8ChannelTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_row_by_hand() {
    // The scale is 254 / 127 = 2; halves go to the even neighbour.
    const CodedFormat format = int8_channel_format();
    const Quantized got = quantized(format, {254, -254, 0, 1, 3, -5, 6.8F});
    QCOMPARE(got.scale, 2.0F);
    QCOMPARE(got.codes, (std::vector<std::uint8_t>{255, 1, 128, 128, 130, 126, 131}));
    QCOMPARE(format.decode(format, got.codes[6], {got.scale}), 6.0F);
  }

  void llm_int8_by_hand() {
    const CodedFormat format = llm_int8_format();
    const Quantized got = quantized(format, {2, -2, 1, 0.0078740157F});
    QCOMPARE(got.scale, 2.0F);
    QCOMPARE(got.codes, (std::vector<std::uint8_t>{255, 1, 192, 128}));
    QVERIFY(format.decode(format, got.codes[2], {got.scale}) == 64.0F * 2 * 7.874015718698502e-3F);
  }

  void zeros_stay_zeros() {
    for (const CodedFormat& format : {int8_channel_format(), llm_int8_format()}) {
      const Quantized got = quantized(format, {0, 0, 0});
      for (const std::uint8_t code : got.codes) QVERIFY(format.decode(format, code, {got.scale}) == 0);
    }
  }

  void what_is_no_number_harms_no_other_weight() {
    for (const CodedFormat& format : {int8_channel_format(), llm_int8_format()}) {
      const Quantized got = quantized(format, {std::numeric_limits<float>::quiet_NaN(), 4, -2});
      QVERIFY(format.decode(format, got.codes[0], {got.scale}) == 0);
      QCOMPARE(format.decode(format, got.codes[1], {got.scale}), 4.0F);
    }
  }
};

LATHE_TEST(Int8ChannelTest)

}  // namespace int8_channel_test
#include "int8_channel_test.moc"
