// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/random.h"

#include <QTest>
#include <set>

#include "tests/support/test_class.h"

namespace random_test {

using namespace lathe::engine;

class RandomTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  /// Known answers of Random123 (kat_vectors).
  void philox_gives_the_published_numbers() {
    const std::array<std::uint32_t, 4> zeros = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    QVERIFY(philox4x32({0, 0, 0, 0}, {0, 0}) == zeros);
    const std::array<std::uint32_t, 4> ones = {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd};
    QVERIFY(philox4x32({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}) == ones);
    const std::array<std::uint32_t, 4> pi = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
    QVERIFY(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == pi);
  }
  void numbers_lie_in_the_unit_interval() {
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const double number = uniform_at(42, i);
      QVERIFY(number >= 0.0 && number < 1.0);
    }
  }
  void the_same_seed_and_index_give_the_same_number() {
    QCOMPARE(uniform_at(7, 1'000'000), uniform_at(7, 1'000'000));
    QCOMPARE(uniform_at(~0ull, ~0ull), uniform_at(~0ull, ~0ull));
  }
  void neighbouring_seeds_and_indices_differ() {
    std::set<double> numbers;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      for (std::uint64_t index = 0; index < 100; ++index) numbers.insert(uniform_at(seed, index));
    }
    QCOMPARE(numbers.size(), std::size_t{10'000});
  }
  void high_bits_of_seed_and_index_count() {
    QVERIFY(uniform_at(1, 0) != uniform_at(1 + (1ull << 32), 0));
    QVERIFY(uniform_at(1, 1) != uniform_at(1, 1 + (1ull << 32)));
  }
  void numbers_are_spread_evenly() {
    constexpr int kBins = 50, kDraws = 100'000;
    std::array<int, kBins> counts{};
    for (std::uint64_t i = 0; i < kDraws; ++i) ++counts[static_cast<std::size_t>(uniform_at(3, i) * kBins)];
    double chi_squared = 0;
    for (const int count : counts)
      chi_squared += (count - kDraws / kBins) * static_cast<double>(count - kDraws / kBins) / (kDraws / kBins);
    QVERIFY2(chi_squared < 85.35, "49 degrees of freedom, p = 0.001");
  }
};

LATHE_TEST(RandomTest)

}  // namespace random_test
#include "random_test.moc"
