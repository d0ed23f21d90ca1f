// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/row_progress.h"

#include <QTest>
#include <chrono>
#include <thread>

#include "tests/support/test_class.h"

namespace row_progress_test {

using namespace lathe::kernels;
using namespace std::chrono_literals;

namespace {

/// 576 rows in tiles of 6: three chunks of 192.
const RowCut kThree(RowTiling{.n_rows = 576, .n_tiles = 96});

/// Whether wait() returns only when the last item has finished.
bool waits_for(RowProgress& progress, RowRange rows, RowRange item) {
  std::atomic<bool> is_back{false};
  std::thread waiter([&] {
    progress.wait(rows);
    is_back.store(true);
  });
  std::this_thread::sleep_for(5ms);
  const bool was_early = is_back.load();
  progress.finish(item);
  waiter.join();
  return !was_early;
}

}  // namespace

class RowProgressTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void chunks_are_whole_tiles_of_about_equal_size() {
    for (const auto& [n_rows, n_tiles] : {std::pair{1, 1}, {17, 3}, {192, 32}, {193, 33}, {385, 65}, {576, 18}, {575, 96}}) {
      const RowCut cut(RowTiling{.n_rows = n_rows, .n_tiles = n_tiles});
      QVERIFY(cut.n_chunks >= 1 && cut.n_chunks <= RowCut::kMaxChunks);
      QCOMPARE(cut.rows(0).begin, 0);
      QCOMPARE(cut.rows(cut.n_chunks - 1).end, n_rows);
      for (std::int64_t i = 0; i < cut.n_chunks; ++i) {
        const RowRange rows = cut.rows(i);
        QVERIFY(rows.begin < rows.end && rows.end - rows.begin <= kMaxChunkRows + 32);
        if (i > 0) QCOMPARE(rows.begin, cut.rows(i - 1).end);
      }
    }
  }

  void nothing_expected_is_nothing_to_wait_for() {
    RowProgress progress(kThree, true);
    progress.wait({0, 576});
  }

  void rows_of_other_chunks_are_not_waited_for() {
    RowProgress progress(kThree, true);
    progress.expect({200, 380});
    progress.wait({0, 192});
    progress.wait({384, 576});
    QVERIFY(waits_for(progress, {190, 194}, {200, 380}));
  }

  void an_item_may_touch_several_chunks() {
    RowProgress progress(kThree, true);
    progress.expect({100, 400});
    progress.expect({0, 50});
    progress.finish({100, 400});
    progress.wait({192, 576});
    QVERIFY(waits_for(progress, {0, 10}, {0, 50}));
  }

  void a_sleeping_waiter_is_woken_data() {
    QTest::addColumn<bool>("may_spin");
    QTest::newRow("polls first") << true;
    QTest::newRow("sleeps at once") << false;
  }
  void a_sleeping_waiter_is_woken() {
    QFETCH(bool, may_spin);
    RowProgress progress(kThree, may_spin);
    progress.expect_of_each_chunk(2);
    std::atomic<int> seen{0};
    int made = 0;
    std::thread waiter([&] {
      progress.wait({0, 576});
      seen.store(made);
    });
    for (std::int64_t item = 0; item < 6; ++item) {
      std::this_thread::sleep_for(2ms);  // longer than it polls
      QCOMPARE(seen.load(), 0);
      ++made;
      progress.finish(kThree.rows(item / 2));
    }
    waiter.join();
    QCOMPARE(seen.load(), 6);
  }
};

LATHE_TEST(RowProgressTest)

}  // namespace row_progress_test
#include "row_progress_test.moc"
