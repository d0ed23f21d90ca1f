// SPDX-License-Identifier: GPL-3.0-or-later
#include <QSignalSpy>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/widgets/state_map.h"

namespace state_map_test {

using lathe::engine::RecurrentStates;
using lathe::ui::StateMap;

namespace {

/// Two slots of requests, the first of request 5, and `n` snapshots, the first after 64 tokens.
RecurrentStates states_with(int n) {
  RecurrentStates states{.n_slots = 2, .n_slots_used = 1, .n_snapshots = n, .n_snapshots_held = 1};
  states.slot_states.resize(static_cast<std::size_t>(2 + n));
  states.slot_states[0] = {.owner = 5, .n_tokens = 1234};
  states.slot_states[2].n_tokens = 64;
  return states;
}

}  // namespace

class StateMapTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void slots_are_painted_in_the_colour_of_their_request() {
    lathe::ui::Theme theme;
    StateMap map(theme);
    map.resize(300, 16);
    map.show_states(states_with(3));
    const QImage image = map.grab().toImage();
    QCOMPARE(image.pixelColor(map.cell_of_slot(0).center()), lathe::ui::kv_color(theme.tokens(), 5));
    QCOMPARE(image.pixelColor(map.cell_of_slot(1).center()), theme.tokens().page);  // free: an outline
    QCOMPARE(image.pixelColor(map.cell_of_slot(2).center()), theme.tokens().kv_cached);
    QCOMPARE(image.pixelColor(map.cell_of_slot(3).center()), theme.tokens().page);
    const int pitch = map.cell_of_slot(1).left() - map.cell_of_slot(0).left();
    QCOMPARE(map.cell_of_slot(2).left() - map.cell_of_slot(1).left(), 2 * pitch);
  }

  void each_slot_says_what_it_holds() {
    lathe::ui::Theme theme;
    StateMap map(theme);
    map.show_states(states_with(2));
    QCOMPARE(map.text_for(0), QString("State 0: request 5, after 1,234 tokens"));
    QCOMPARE(map.text_for(1), QString("State 1: free"));
    QCOMPARE(map.text_for(2), QString("Snapshot 0: state after 64 tokens"));
    QCOMPARE(map.text_for(3), QString("Snapshot 1: free"));
    QCOMPARE(map.accessibleDescription(), QString("1 of 2 in use, 1 of 2 snapshots held"));
  }

  void a_click_names_the_owner() {
    lathe::ui::Theme theme;
    StateMap map(theme);
    map.resize(300, 16);
    map.show_states(states_with(2));
    QSignalSpy clicked(&map, &StateMap::request_clicked);
    QTest::mouseClick(&map, Qt::LeftButton, {}, map.cell_of_slot(0).center());
    QTest::mouseClick(&map, Qt::LeftButton, {}, map.cell_of_slot(2).center());
    QCOMPARE(clicked.count(), 2);
    QCOMPARE(clicked[0][0].toULongLong(), 5ULL);
    QCOMPARE(clicked[1][0].toULongLong(), 0ULL);
  }

  void thousands_of_snapshots_are_painted_too() {
    lathe::ui::Theme theme;
    StateMap map(theme);
    map.resize(100, 16);
    RecurrentStates states = states_with(5000);
    for (lathe::engine::StateSlot& slot : states.slot_states) slot.n_tokens = 64;
    map.show_states(states);
    QVERIFY(map.cell_of_slot(0).isEmpty());
    QCOMPARE(map.grab().toImage().pixelColor(50, 8), theme.tokens().kv_cached);
  }

  void without_recurrent_layers_it_is_hidden() {
    lathe::ui::Theme theme;
    QWidget window;
    StateMap map(theme, &window);
    window.show();
    map.show_states(states_with(2));
    QVERIFY(map.isVisible());
    map.show_states({});
    QVERIFY(!map.isVisible());
  }
};

LATHE_WINDOW_TEST(StateMapTest)

}  // namespace state_map_test
#include "state_map_test.moc"
