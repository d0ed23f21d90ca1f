// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/stages/run_stages.h"

#include <QTest>
#include <atomic>
#include <vector>

#include "kernels/cpu/stages/panel_cut.h"
#include "kernels/cpu/stages/row_progress.h"
#include "tests/support/test_class.h"

namespace run_stages_test {

using namespace lathe::kernels;

namespace {

/// Counts its items, and notes how many of the stage before had begun when each of its own did.
struct CountingStage {
  std::int64_t n;
  std::vector<std::atomic<int>>& times;
  std::atomic<std::int64_t>& begun;
  const std::atomic<std::int64_t>* begun_before;
  std::int64_t n_before;
  std::atomic<bool>& in_order;

  std::int64_t n_items() const { return n; }
  void run(std::int64_t item, int /*thread*/) const {
    begun.fetch_add(1);
    times[static_cast<std::size_t>(item)].fetch_add(1);
    if (begun_before != nullptr && begun_before->load() < n_before - 8) in_order.store(false);
  }
};

/// Fills rows, or adds up what the stage before has filled.
struct RowStage {
  const RowCut& cut;
  std::int64_t n_pieces;
  std::vector<int>& rows;
  RowProgress* before;
  RowProgress& done;

  std::int64_t n_items() const { return cut.n_chunks * n_pieces; }
  void run(std::int64_t item, int /*thread*/) const {
    const RowRange chunk = cut.rows(item / n_pieces);
    if (before != nullptr) before->wait(chunk);
    for (std::int64_t row = chunk.begin + item % n_pieces; row < chunk.end; row += n_pieces)
      ++rows[static_cast<std::size_t>(row)];
    done.finish(chunk);
  }
};

}  // namespace

class RunStagesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_item_of_every_stage_once() {
    ThreadPool pool(3);
    for (const auto& [n_first, n_second] : {std::pair{1, 1}, {0, 5}, {7, 0}, {40, 3}, {3, 200}}) {
      std::vector<std::atomic<int>> first(static_cast<std::size_t>(n_first)), second(static_cast<std::size_t>(n_second));
      std::atomic<std::int64_t> begun_first{0}, begun_second{0};
      std::atomic<bool> in_order{true};
      run_stages(pool, CountingStage{n_first, first, begun_first, nullptr, 0, in_order},
                 CountingStage{n_second, second, begun_second, &begun_first, n_first, in_order});
      for (const auto& times : first) QCOMPARE(times.load(), 1);
      for (const auto& times : second) QCOMPARE(times.load(), 1);
      QVERIFY(in_order.load());
    }
  }

  /// Each stage adds 1 to every row once the stage before has: whoever did not wait would see a row that lacks one.
  void a_stage_waits_for_its_rows() {
    ThreadPool pool(4);
    for (int round = 0; round < 200; ++round) {
      const RowCut cut(RowTiling{.n_rows = 500, .n_tiles = 84});
      std::vector<int> rows(500);
      RowProgress first(cut, pool.may_spin()), second(cut, pool.may_spin()), third(cut, pool.may_spin());
      for (RowProgress* progress : {&first, &second, &third}) progress->expect_of_each_chunk(5);
      run_stages(pool, RowStage{cut, 5, rows, nullptr, first}, RowStage{cut, 5, rows, &first, second},
                 RowStage{cut, 5, rows, &second, third});
      for (const int n : rows) QCOMPARE(n, 3);
    }
  }

  void work_for_one_stays_on_the_caller() {
    ThreadPool pool(2);
    std::vector<std::atomic<int>> times(1);
    std::atomic<std::int64_t> begun{0};
    std::atomic<bool> in_order{true};
    const CountingStage one{1, times, begun, nullptr, 0, in_order};
    run_stages(pool, one, one, one);
    QCOMPARE(begun.load(), 3);
    QCOMPARE(pool.n_shared(), 0);
  }

  void panels_are_cut_into_whole_groups() {
    for (const std::int64_t n_panels : {1, 2, 7, 56, 304, 9498}) {
      for (const std::int64_t group : {1, 2, 3, 4}) {
        for (const int n_threads : {1, 2, 16}) {
          const PanelCut cut = cut_panels(n_panels, group, kMaxChunkPanels, 3, n_threads);
          QVERIFY(cut.n_chunks >= 1);
          QCOMPARE(cut.first_panel(0), 0);
          QCOMPARE(cut.first_panel(cut.n_chunks), n_panels);
          for (std::int64_t i = 0; i < cut.n_chunks; ++i) {
            QCOMPARE(cut.first_panel(i) % group, 0);
            QVERIFY(cut.first_panel(i) < cut.first_panel(i + 1));
            QVERIFY(cut.first_panel(i + 1) - cut.first_panel(i) <= kMaxChunkPanels);
          }
        }
      }
    }
  }
};

LATHE_TEST(RunStagesTest)

}  // namespace run_stages_test
#include "run_stages_test.moc"
