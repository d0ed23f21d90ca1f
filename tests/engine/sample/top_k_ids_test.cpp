// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/top_k_ids.h"

#include <QTest>
#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "tests/support/test_class.h"

namespace top_k_ids_test {

using namespace lathe::engine;

namespace {

/// The plain way: sort everything.
std::vector<std::int32_t> sorted_best(const std::vector<float>& values, std::size_t k) {
  std::vector<std::int32_t> ids(values.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::stable_sort(ids.begin(), ids.end(), [&](std::int32_t a, std::int32_t b) { return values[a] > values[b]; });
  std::erase_if(ids, [&](std::int32_t id) { return values[id] == -std::numeric_limits<float>::infinity(); });
  ids.resize(std::min(k, ids.size()));
  return ids;
}

}  // namespace

class TopKIdsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void agrees_with_sorting() {
    std::mt19937 generator(5);
    for (int round = 0; round < 200; ++round) {
      std::vector<float> values(1 + generator() % 300);
      for (float& value : values) value = static_cast<float>(generator() % 40);  // many equals
      const std::size_t k = generator() % (values.size() + 3);
      std::vector<std::int32_t> ids;
      top_k_ids(values, k, ids);
      QVERIFY(ids == sorted_best(values, k));
    }
  }
  void ties_go_to_the_lower_id() {
    std::vector<std::int32_t> ids;
    top_k_ids(std::vector<float>{1, 2, 2, 2, 0}, 2, ids);
    QVERIFY((ids == std::vector<std::int32_t>{1, 2}));
  }
  void masked_values_never_count() {
    const float masked = -std::numeric_limits<float>::infinity();
    std::vector<std::int32_t> ids;
    top_k_ids(std::vector<float>{masked, 1, masked}, 3, ids);
    QVERIFY((ids == std::vector<std::int32_t>{1}));
  }
  void none_are_asked_for() {
    std::vector<std::int32_t> ids = {7};
    top_k_ids(std::vector<float>{1, 2}, 0, ids);
    QVERIFY(ids.empty());
  }
};

LATHE_TEST(TopKIdsTest)

}  // namespace top_k_ids_test
#include "top_k_ids_test.moc"
