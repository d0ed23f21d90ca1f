// SPDX-License-Identifier: Apache-2.0
#include "engine/run/rope_rows.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace rope_rows_test {

using namespace lathe::engine;

namespace {

/// Two sequences: positions 3 and 4, then 9 and 10.
BatchPlan two_sequences(std::vector<std::int32_t> choices) {
  BatchPlan plan;
  plan.token_ids = {1, 1, 1, 1};
  plan.positions = {3, 4, 9, 10};
  plan.query_start = {0, 2, 4};
  plan.context_len = {5, 11};
  plan.rope_choices = std::move(choices);
  return plan;
}

std::vector<std::int32_t> rows_of(const BatchPlan& plan, const std::vector<std::int64_t>& contexts) {
  std::vector<std::int32_t> rows = {77};
  find_rope_rows(plan, contexts, rows);
  return rows;
}

}  // namespace

class RopeRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void one_context_has_the_positions() {
    const std::vector<std::int32_t> positions = {3, 4, 9, 10};
    QCOMPARE(rows_of(two_sequences({}), {100}), positions);
    QCOMPARE(rows_of(two_sequences({}), {}), positions);
  }

  void each_sequence_has_the_part_that_it_chose() {
    QCOMPARE(rows_of(two_sequences({0, 2}), {8, 16, 40}), (std::vector<std::int32_t>{3, 4, 33, 34}));
    QCOMPARE(rows_of(two_sequences({1, 1}), {8, 16, 40}), (std::vector<std::int32_t>{11, 12, 17, 18}));
  }

  /// Behind a context lies only padding; it stays in its part.
  void padding_stays_in_its_part() {
    QCOMPARE(rows_of(two_sequences({1, 0}), {8, 16}), (std::vector<std::int32_t>{11, 12, 7, 7}));
  }
};

LATHE_TEST(RopeRowsTest)

}  // namespace rope_rows_test
#include "rope_rows_test.moc"
