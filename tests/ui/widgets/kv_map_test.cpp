// SPDX-License-Identifier: GPL-3.0-or-later
#include <QSignalSpy>
#include <QTest>
#include <set>

#include "tests/support/test_class.h"
#include "ui/panels/kv/kv_panel.h"
#include "ui/widgets/kv_map.h"

namespace kv_map_test {

using lathe::engine::EngineSnapshot;
using lathe::engine::KvBlockState;
using lathe::ui::cell_of;
using lathe::ui::kv_grid;
using lathe::ui::KvCell;
using lathe::ui::KvMap;

namespace {

std::shared_ptr<EngineSnapshot> snapshot_of(std::vector<KvBlockState> blocks) {
  auto snapshot = std::make_shared<EngineSnapshot>();
  snapshot->block_size = 16;
  snapshot->n_blocks = static_cast<int>(blocks.size());
  snapshot->blocks = std::move(blocks);
  return snapshot;
}

}  // namespace

class KvMapTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void references_decide_what_a_cell_is() {
    QVERIFY(cell_of({0, 0, 0, false}) == KvCell::free);
    QVERIFY(cell_of({0, 0, 16, true}) == KvCell::cached);
    QVERIFY(cell_of({5, 1, 7, false}) == KvCell::owned);
    QVERIFY(cell_of({5, 3, 16, true}) == KvCell::shared);
  }

  void a_held_block_without_content_is_reserved_where_room_is() {
    QVERIFY(cell_of({5, 1, 0, false}, true) == KvCell::reserved);
    QVERIFY(cell_of({5, 1, 1, false}, true) == KvCell::owned);
    QVERIFY(cell_of({5, 1, 0, false}, false) == KvCell::owned);  // the step that runs fills it
    QVERIFY(cell_of({0, 0, 0, false}, true) == KvCell::free);
  }

  void the_grid_fits_all_blocks() {
    for (const int n : {1, 16, 100, 1024, 4096}) {
      const auto grid = kv_grid(n, 430, 120);
      QVERIFY(grid.pitch > 0);
      QVERIFY(((n + grid.columns - 1) / grid.columns) * grid.pitch <= 121);
      QVERIFY(grid.columns * grid.pitch <= 431);
    }
  }

  void more_blocks_make_smaller_cells() { QVERIFY(kv_grid(64, 400, 100).pitch > kv_grid(2048, 400, 100).pitch); }

  void too_many_blocks_have_no_grid() { QCOMPARE(kv_grid(1'000'000, 100, 100).pitch, 0); }

  void blocks_are_painted_in_the_colour_of_their_request() {
    lathe::ui::Theme theme;
    KvMap map(theme);
    map.resize(100, 40);
    map.show_snapshot(snapshot_of({{1, 1, 16, false}, {0, 0, 16, true}}));
    const QImage image = map.grab().toImage();
    QCOMPARE(image.pixelColor(4, 4), lathe::ui::kv_color(theme.tokens(), 1));
    QCOMPARE(image.pixelColor(17 + 4, 4), theme.tokens().kv_cached);
  }

  void a_reserved_block_has_a_pattern_and_a_filled_one_none() {
    lathe::ui::Theme theme;
    KvMap map(theme);
    map.resize(100, 40);
    auto snapshot = snapshot_of({{1, 1, 16, false}, {1, 1, 0, false}, {0, 1, 0, false}});
    snapshot->counters.n_kv_reserved = 32;
    snapshot->n_blocks_used = 3;
    map.show_snapshot(snapshot);
    const QImage image = map.grab().toImage();
    const auto colors_of = [&](int cell) {
      std::set<QRgb> colors;
      for (int x = 0; x < 16; ++x)
        for (int y = 0; y < 16; ++y) colors.insert(image.pixel(17 * cell + x, y));
      return colors;
    };
    const QRgb own = lathe::ui::kv_color(theme.tokens(), 1).rgb();
    QCOMPARE(colors_of(0), std::set<QRgb>{own});
    QCOMPARE(colors_of(1).size(), std::size_t{2});
    QVERIFY(colors_of(1).contains(own));
    QVERIFY(colors_of(2).contains(theme.tokens().queued.rgb()));  // its request has ended, the batch has not
    QCOMPARE(image.pixel(17 * 1 - 1, 4), theme.tokens().page.rgb());  // nothing is painted beside the cell
    QVERIFY2(map.accessibleDescription().contains("2 of them reserved"), qPrintable(map.accessibleDescription()));
  }

  void a_million_blocks_are_painted_too() {
    lathe::ui::Theme theme;
    KvMap map(theme);
    map.resize(200, 100);
    map.show_snapshot(snapshot_of(std::vector<KvBlockState>(100'000, KvBlockState{3, 1, 16, false})));
    QCOMPARE(map.grab().toImage().pixelColor(50, 50), lathe::ui::kv_color(theme.tokens(), 3));
  }

  void a_click_names_the_owner() {
    lathe::ui::Theme theme;
    KvMap map(theme);
    map.resize(100, 40);
    map.show_snapshot(snapshot_of({{9, 1, 16, false}}));
    QSignalSpy clicked(&map, &KvMap::request_clicked);
    QTest::mouseClick(&map, Qt::LeftButton, {}, {4, 4});
    QCOMPARE(clicked.count(), 1);
    QCOMPARE(clicked[0][0].toULongLong(), 9ULL);
  }

  void waste_is_what_used_blocks_do_not_hold() {
    auto snapshot = snapshot_of({{1, 1, 16, false}, {1, 1, 8, false}, {0, 0, 16, true}});
    lathe::engine::ActiveRequest request;
    request.n_blocks = 2;
    request.n_computed = 24;
    snapshot->requests = {request};
    const auto waste = lathe::ui::waste_of(*snapshot, 240);
    QCOMPARE(waste.paged, 0.25);
    QCOMPARE(waste.contiguous, 0.9);
    QCOMPARE(waste.reserved, 0.0);
  }

  /// 64 slots of which 8 are filled and 32 lie in blocks that hold nothing.
  void reserved_waste_is_that_of_blocks_that_hold_nothing() {
    auto snapshot = snapshot_of({{1, 1, 6, false}, {2, 1, 2, false}, {1, 1, 0, false}, {0, 1, 0, false}, {0, 0, 0, false}});
    snapshot->counters.n_kv_reserved = 1;
    const auto waste = lathe::ui::waste_of(*snapshot, 32);
    QCOMPARE(waste.n_reserved, 2);
    QCOMPARE(waste.reserved, 0.5);
    QCOMPARE(waste.paged, 0.875);
  }
};

LATHE_WINDOW_TEST(KvMapTest)

}  // namespace kv_map_test
#include "kv_map_test.moc"
