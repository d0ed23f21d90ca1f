// SPDX-License-Identifier: Apache-2.0
// Random weights: reproducible, about normal, never zero, made when asked for and forgotten when dropped.
#include "engine/load/random_weights.h"

#include <QTest>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tests/support/test_class.h"

namespace random_weights_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

const RandomTensor kMatrix{.name = "matrix", .shape = {700, 1000}, .mean = 0, .deviation = 0.02};

std::vector<std::uint16_t> values_of(std::uint64_t key, const RandomTensor& tensor, std::int64_t begin, std::int64_t end) {
  std::vector<std::uint16_t> values(static_cast<std::size_t>(end - begin));
  fill_random(key, tensor, begin, end, values.data());
  return values;
}

double number(std::uint16_t bf16) { return std::bit_cast<float>(static_cast<std::uint32_t>(bf16) << 16); }

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::shared_ptr<const RandomWeights> three_tensors(std::uint64_t seed = 1) {
  return *RandomWeights::create("model", seed,
                                {kMatrix,
                                 {.name = "norm", .shape = {9}, .mean = 1, .deviation = 0.1},
                                 {.name = "other", .shape = {300, 500}, .mean = 0, .deviation = 0.02}});
}

}  // namespace

class RandomWeightsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void values_are_about_normal_and_never_zero();
  void a_value_depends_on_key_and_index_alone();
  void keys_differ();
  void tensors_are_made_when_asked_for();
  void a_dropped_tensor_is_forgotten_and_comes_back();
  void tensors_made_ahead_are_given_back();
  void stamps_tell_seeds_apart();
};

void RandomWeightsTest::values_are_about_normal_and_never_zero() {
  const auto values = values_of(5, kMatrix, 0, 700'000);
  double sum = 0, squares = 0, largest = 0;
  for (const std::uint16_t value : values) {
    QVERIFY(number(value) != 0);
    sum += number(value);
    squares += number(value) * number(value);
    largest = std::max(largest, std::abs(number(value)));
  }
  const double n = static_cast<double>(values.size());
  QVERIFY(std::abs(sum / n) < 0.02 / std::sqrt(n) * 5);
  QVERIFY(std::abs(std::sqrt(squares / n) / 0.02 - 1) < 0.01);
  QVERIFY(largest > 3 * 0.02 && largest < 3.5 * 0.02);
  for (const std::uint16_t value : values_of(5, {.name = "n", .shape = {1000}, .mean = 1, .deviation = 0.1}, 0, 1000))
    QVERIFY(number(value) > 0.6 && number(value) < 1.4);
}

void RandomWeightsTest::a_value_depends_on_key_and_index_alone() {
  const auto whole = values_of(7, kMatrix, 0, 5000);
  const auto part = values_of(7, kMatrix, 1234, 4321);
  QVERIFY(std::equal(part.begin(), part.end(), whole.begin() + 1234));
}

void RandomWeightsTest::keys_differ() {
  QVERIFY(random_key(1, "a") != random_key(1, "b"));
  QVERIFY(random_key(1, "a") != random_key(2, "a"));
  QVERIFY(values_of(random_key(1, "a"), kMatrix, 0, 100) != values_of(random_key(1, "b"), kMatrix, 0, 100));
}

void RandomWeightsTest::tensors_are_made_when_asked_for() {
  const auto weights = three_tensors();
  const auto tensors = weights->tensors();
  QCOMPARE(tensors.size(), std::size_t{3});
  QCOMPARE(tensors[1].bytes.size(), std::size_t{18});
  QVERIFY(tensors[2].shape == (std::vector<std::int64_t>{300, 500}));
  QVERIFY(is_zero(tensors[2].bytes));
  QVERIFY(weights->prepare(tensors[2].bytes));
  const auto expected =
      values_of(random_key(1, "other"), {.name = {}, .shape = {}, .mean = 0, .deviation = 0.02}, 0, 150'000);
  QCOMPARE(tensors[2].bytes.size(), expected.size() * 2);
  QCOMPARE(std::memcmp(tensors[2].bytes.data(), expected.data(), tensors[2].bytes.size()), 0);
}

void RandomWeightsTest::a_dropped_tensor_is_forgotten_and_comes_back() {
  const auto weights = three_tensors();
  const StoredTensor matrix = weights->tensors().front();
  weights->prepare(matrix.bytes);
  const std::vector<std::byte> before(matrix.bytes.begin(), matrix.bytes.end());
  weights->drop(matrix.bytes);
  QVERIFY(is_zero(matrix.bytes));
  weights->prepare(matrix.bytes);
  QVERIFY(std::equal(before.begin(), before.end(), matrix.bytes.begin(), matrix.bytes.end()));
}

void RandomWeightsTest::tensors_made_ahead_are_given_back() {
  const auto weights = three_tensors();
  const auto tensors = weights->tensors();
  weights->prepare(tensors[1].bytes);
  QVERIFY(!is_zero(tensors[1].bytes) && !is_zero(tensors[2].bytes));  // the next one too
  weights->prepare(tensors[0].bytes);
  QVERIFY(!is_zero(tensors[1].bytes));  // asked for
  QVERIFY(is_zero(tensors[2].bytes));
}

void RandomWeightsTest::stamps_tell_seeds_apart() {
  QCOMPARE(three_tensors()->stamp(), three_tensors()->stamp());
  QVERIFY(three_tensors(1)->stamp() != three_tensors(2)->stamp());
}

LATHE_TEST(RandomWeightsTest)

}  // namespace random_weights_test
#include "random_weights_test.moc"
