// SPDX-License-Identifier: GPL-3.0-or-later
#include <QSignalSpy>
#include <QTest>

#include "ui/panels/kv/kv_panel.h"
#include "ui/widgets/kv_map.h"

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
  }
};

QTEST_MAIN(KvMapTest)
#include "kv_map_test.moc"
