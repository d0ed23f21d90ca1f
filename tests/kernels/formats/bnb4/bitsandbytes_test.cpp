// SPDX-License-Identifier: Apache-2.0
// Formats of bitsandbytes, against what the package itself makes of the same tensors (tests/golden/bitsandbytes.json).
#include <QTest>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "kernels/formats/bnb4/dynamic_map.h"
#include "kernels/formats/format.h"
#include "kernels/formats/tensor_codes.h"
#include "tests/support/hex_floats.h"
#include "tests/support/test_class.h"

namespace bitsandbytes_test {

using namespace lathe::kernels;
using lathe::tests::floats_of_hex;

namespace {

const nlohmann::json& goldens() {
  static const auto json = nlohmann::json::parse(std::ifstream(LATHE_SOURCE_DIR "/tests/golden/bitsandbytes.json"));
  return json;
}

TensorCodes codes_of(WeightFormat format, std::vector<float>& weights, std::int64_t k) {
  const TensorView source(weights.data(), Dtype::f32, {static_cast<std::int64_t>(weights.size()) / k, k});
  return {descriptor_of(format).codes, source, [](std::int64_t n, const auto& body) { body(0, n); }};
}

std::vector<float> decoded(WeightFormat format, std::vector<float> weights, std::int64_t k) {
  const TensorCodes codes = codes_of(format, weights, k);
  std::vector<float> all(weights.size());
  for (std::size_t begin = 0; begin < all.size(); begin += static_cast<std::size_t>(k)) {
    codes.decoded_row(static_cast<std::int64_t>(begin) / k, std::span(all).subspan(begin, static_cast<std::size_t>(k)));
  }
  return all;
}

/// The mean of the package is a sum in f32, whose order is that of its processor; ours is the mean. Its search for the
/// nearest code takes a neighbour for two scales of a thousand: ours may be nearer to `scales`, never further.
void check_nested(const nlohmann::json& want, const NestedScales& got, std::span<const float> scales) {
  const float mean = floats_of_hex(want["mean"])[0];
  const float near = 3e-7F * mean;
  QVERIFY(std::fabs(got.mean - mean) <= near);
  const std::vector<float> theirs = floats_of_hex(want["scales"]);
  QCOMPARE(got.codes.size(), theirs.size());
  std::size_t n_same = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    const float ours = got.at(i);
    n_same += std::fabs(ours - theirs[i]) <= near ? 1 : 0;
    QVERIFY2(std::fabs(ours - scales[i]) <= std::fabs(theirs[i] - scales[i]) + near, qPrintable(QString::number(i)));
  }
  QVERIFY(n_same * 100 >= theirs.size() * 98);
}

/// Scales before double quantization: the largest magnitude of each 64 weights.
std::vector<float> plain_scales(const std::vector<float>& weights) {
  std::vector<float> scales((weights.size() + 63) / 64, 0.0F);
  for (std::size_t i = 0; i < weights.size(); ++i) scales[i / 64] = std::max(scales[i / 64], std::fabs(weights[i]));
  return scales;
}

}  // namespace

class BitsandbytesTest : public QObject {
  Q_OBJECT

  void add_tensors() {
    QTest::addColumn<int>("tensor");
    for (std::size_t i = 0; i < goldens()["tensors"].size(); ++i) {
      QTest::newRow(goldens()["tensors"][i]["name"].get<std::string>().c_str()) << static_cast<int>(i);
    }
  }

 private Q_SLOTS:
  void weights_are_bitwise_those_of_the_package_data() { add_tensors(); }
  void weights_are_bitwise_those_of_the_package() {
    QFETCH(int, tensor);
    const nlohmann::json& golden = goldens()["tensors"][static_cast<std::size_t>(tensor)];
    for (const WeightFormat format : {WeightFormat::nf4, WeightFormat::fp4, WeightFormat::llm_int8}) {
      const std::string name(descriptor_of(format).name);
      const std::vector<float> want = floats_of_hex(golden[name]);
      const std::vector<float> got = decoded(format, floats_of_hex(golden["source"]), golden["k"]);
      QCOMPARE(got.size(), want.size());
      for (std::size_t i = 0; i < want.size(); ++i) {
        QVERIFY2(got[i] == want[i], qPrintable(QStringLiteral("%1, weight %2: got %3, expected %4")
                                                   .arg(QString::fromStdString(name))
                                                   .arg(i)
                                                   .arg(got[i], 0, 'g', 9)
                                                   .arg(want[i], 0, 'g', 9)));
      }
    }
  }

  void nested_scales_are_those_of_the_package_data() { add_tensors(); }
  void nested_scales_are_those_of_the_package() {
    QFETCH(int, tensor);
    const nlohmann::json& golden = goldens()["tensors"][static_cast<std::size_t>(tensor)];
    std::vector<float> weights = floats_of_hex(golden["source"]);
    check_nested(golden["nested"], codes_of(WeightFormat::nf4_nested, weights, golden["k"]).nested(), plain_scales(weights));
  }

  /// Scales of 41 rows of 7 blocks lie in two blocks of 256.
  void scales_of_many_blocks_are_those_of_the_package() {
    std::vector<float> weights;
    for (std::uint32_t i = 0; i < 41 * 448; ++i) {
      const float number = static_cast<float>((i * 2654435761U) >> 8) / 16777216.0F - 0.5F;
      weights.push_back(number * static_cast<float>(1 + i / 64 * 7 % 13));
    }
    check_nested(goldens()["many_blocks"], codes_of(WeightFormat::fp4_nested, weights, 448).nested(), plain_scales(weights));
  }

  void the_map_of_scales_is_that_of_the_package() {
    const std::vector<float> want = floats_of_hex(goldens()["dynamic_map"]);
    for (std::size_t i = 0; i < 256; ++i) QVERIFY2(dynamic_map()[i] == want[i], qPrintable(QString::number(i)));
  }

  /// Double quantization changes scales alone: a weight is its code's number times the scale that came back.
  void nested_weights_have_the_codes_of_plain_ones() {
    const nlohmann::json& golden = goldens()["tensors"][0];
    const std::int64_t k = golden["k"];
    std::vector<float> weights = floats_of_hex(golden["source"]);
    const TensorCodes plain = codes_of(WeightFormat::nf4, weights, k),
                      nested = codes_of(WeightFormat::nf4_nested, weights, k);
    std::vector<std::uint8_t> a(static_cast<std::size_t>(k)), b(a.size());
    std::vector<CodeScale> scales(static_cast<std::size_t>(plain.scales_of_row()));
    std::vector<float> room(a.size());
    plain.row(3, room, a, scales);
    nested.row(3, room, b, scales);
    QCOMPARE(a, b);
    const CodedFormat& format = descriptor_of(WeightFormat::nf4_nested).codes;
    std::vector<float> row(a.size());
    nested.decoded_row(3, row);
    for (std::size_t i = 0; i < row.size(); ++i) {
      QVERIFY(row[i] == format.decode(format, a[i], {nested.nested().at(3 * scales.size() + i / 64)}));
    }
  }
};

LATHE_TEST(BitsandbytesTest)

}  // namespace bitsandbytes_test
#include "bitsandbytes_test.moc"
