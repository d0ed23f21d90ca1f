// SPDX-License-Identifier: GPL-3.0-or-later
// The docks at the bottom in the real window: Monitor, KV cache, Requests.
#include <QLabel>
#include <QLineEdit>
#include <QTableView>
#include <QTableWidget>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"
#include "ui/widgets/kv_map.h"
#include "ui/widgets/live_chart.h"
#include "ui/widgets/state_map.h"
#include "ui/widgets/why_list.h"

namespace docks_test {

using namespace lathe;
using namespace lathe::tests;

class DocksTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { open({}); }
  void cleanup() { fixture.reset(); }

  void the_monitor_draws_what_runs();
  void the_axes_end_at_a_limit_and_say_units();
  void the_monitor_has_the_same_figures_as_a_table();
  void F9_freezes_the_charts_and_measuring_goes_on();
  void the_table_of_frozen_charts_is_not_empty();
  void the_span_can_be_chosen();
  void a_dock_behind_a_tab_draws_nothing();
  void the_kv_map_counts_the_blocks_of_a_request();
  void blocks_are_watched_only_while_the_kv_dock_is_seen();
  void docks_that_nobody_sees_compute_nothing();
  void layers_with_a_window_have_blocks_of_their_own();
  void recurrent_layers_have_a_row_of_states();
  void F9_freezes_the_kv_map();
  void without_a_model_the_kv_dock_says_so();
  void what_is_reserved_and_empty_is_said_and_shown();
  void padding_has_a_chart_where_there_is_any();
  void the_inspector_says_why();
  void why_brings_the_dock();
  void the_why_list_follows_at_its_limit();
  void the_inspector_has_the_figures();
  void the_filter_picks_requests();
  void a_paused_table_stands_still();
  void clearing_leaves_the_running_requests();
  void a_request_after_clearing_is_inspected();

 private:
  void open(FakeLoad load) {
    fixture.reset();
    fixture = std::make_unique<WindowFixture>(std::move(load));
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Paged attention keeps blocks.");
  }
  void answer_one_request() {
    fixture->say("Tell me");
    QVERIFY(fixture->wait_reply());
  }
  /// One request of the chat that runs and stands still.
  void hold_a_request() {
    fixture->engine()->pause();
    fixture->say("Tell me");
    QVERIFY(fixture->engine()->wait_for_active(1));
    QTRY_VERIFY(fixture->writer().stream() != nullptr);
  }
  /// The window anew, with another engine.
  void reload(int FakeModel::*setting, int value) {
    FakeLoad load;
    load.model.*setting = value;
    open(std::move(load));
  }
  void end_it() {
    fixture->engine()->resume();
    QVERIFY(fixture->wait_reply());
  }
  ui::LiveChart* chart(const char* name) { return fixture->find<ui::LiveChart>(name); }
  static std::size_t n_samples(const ui::LiveChart* chart) { return chart->history().samples(ui::Span::half_minute).size(); }
  QStringList ticks(const char* name) { return chart(name)->value_ticks(); }
  QString now_in_table(const QString& figure) {
    const auto* table = fixture->find<QTableWidget>("monitor.table");
    for (int row = 0; row < table->rowCount(); ++row)
      if (table->item(row, 0)->text() == figure) return table->item(row, 1)->text();
    return {};
  }
  int n_rows(const char* view) { return fixture->find<QAbstractItemView>(view)->model()->rowCount(); }
  void press_F9() {
    fixture->window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(fixture->window.get()));
    QTest::keyClick(fixture->window.get(), Qt::Key_F9);
  }

  std::unique_ptr<WindowFixture> fixture;
};

void DocksTest::the_monitor_draws_what_runs() {
  fixture->show_panel("monitor");
  auto* running = chart("monitor.requests");
  QTRY_VERIFY(!running->history().empty());
  hold_a_request();
  QTRY_COMPARE(running->history().samples(ui::Span::half_minute).back().values[0], 1.0);
  QTRY_VERIFY(chart("monitor.kv")->history().samples(ui::Span::half_minute).back().values[0] >= 1.0);
  const int before = running->n_replots();
  QTRY_VERIFY(running->n_replots() > before);
  end_it();
  QTRY_VERIFY(!std::isnan(chart("monitor.ttft")->history().samples(ui::Span::half_minute).back().values[0]));
  QTRY_COMPARE(running->history().samples(ui::Span::half_minute).back().values[0], 0.0);
}

void DocksTest::the_axes_end_at_a_limit_and_say_units() {
  fixture->show_panel("monitor");
  QTRY_COMPARE(ticks("monitor.kv"), QStringList({"0", "512", "1,024"}));
  hold_a_request();
  end_it();
  QTRY_VERIFY(!std::isnan(chart("monitor.ttft")->history().samples(ui::Span::half_minute).back().values[0]));
  QTRY_VERIFY2(ticks("monitor.ttft").back().endsWith("s"), qPrintable(ticks("monitor.ttft").join(", ")));
  QCOMPARE(ticks("monitor.ttft").front(), QString("0"));
}

void DocksTest::the_monitor_has_the_same_figures_as_a_table() {
  fixture->show_panel("monitor");
  hold_a_request();
  fixture->click("monitor.as_table");
  QVERIFY(fixture->find<QTableWidget>("monitor.table")->isVisible());
  QCOMPARE(n_rows("monitor.table"), 9);
  QTRY_COMPARE(now_in_table("Requests, running"), QString("1.00"));
  QTRY_VERIFY(now_in_table("KV blocks, in use").toDouble() >= 1);
  const auto& kv = chart("monitor.kv")->history().samples(ui::Span::half_minute).back().values;
  QCOMPARE(kv[0] + kv[1] + kv[2], 1024.0);  // in use, cached, free
  end_it();
  QTRY_COMPARE(now_in_table("Requests, running"), QString("0.00"));
  fixture->click("monitor.as_table");
  QVERIFY(chart("monitor.throughput")->isVisible());
}

void DocksTest::F9_freezes_the_charts_and_measuring_goes_on() {
  fixture->show_panel("monitor");
  auto* running = chart("monitor.requests");
  QTRY_VERIFY(running->n_replots() > 1);
  press_F9();
  QVERIFY(fixture->window->actions()["view.freeze_charts"]->isChecked());
  QVERIFY(fixture->find<QAbstractButton>("monitor.freeze")->isChecked());
  QVERIFY(fixture->find<QAbstractButton>("kv.freeze")->isChecked());
  const int frozen_at = running->n_replots();
  const std::size_t before = n_samples(running);
  QTRY_VERIFY(n_samples(running) > before + 3);
  QCOMPARE(running->n_replots(), frozen_at);
  fixture->click("monitor.freeze");
  QVERIFY(!fixture->window->actions()["view.freeze_charts"]->isChecked());
  QTRY_VERIFY(running->n_replots() > frozen_at);
}

void DocksTest::the_table_of_frozen_charts_is_not_empty() {
  fixture->show_panel("monitor");
  QTRY_VERIFY(!chart("monitor.requests")->history().empty());
  fixture->trigger("view.freeze_charts");
  fixture->click("monitor.as_table");
  QCOMPARE(n_rows("monitor.table"), 9);
  QCOMPARE(now_in_table("Requests, running"), QString("0.00"));
}

void DocksTest::the_span_can_be_chosen() {
  fixture->show_panel("monitor");
  auto* running = chart("monitor.requests");
  QTRY_VERIFY(n_samples(running) > 2);
  const qsizetype short_lines = running->csv().count('\n');
  QVERIFY(short_lines > 2);
  fixture->click("monitor.span.2");  // an hour has coarser samples
  QVERIFY(running->csv().count('\n') < short_lines);
}

void DocksTest::a_dock_behind_a_tab_draws_nothing() {
  ui::DockLayout& docks = fixture->window->docks();
  fixture->show_panel("monitor");
  auto* running = chart("monitor.requests");
  QTRY_VERIFY(running->n_replots() > 1);
  docks.dock("log")->show();
  fixture->window->tabifyDockWidget(docks.dock("monitor"), docks.dock("log"));
  docks.dock("log")->raise();
  QTRY_VERIFY(running->visibleRegion().isEmpty());
  QVERIFY(running->isVisible());  // for Qt
  const int before = running->n_replots();
  const std::size_t samples = n_samples(running);
  hold_a_request();
  fixture->engine()->step(3);
  QTRY_COMPARE(fixture->text_of(1), QString("Pag"));
  QTest::qWait(350);  // three ticks of the charts
  QCOMPARE(running->n_replots(), before);
  QCOMPARE(n_samples(running), samples);
  end_it();
  fixture->show_panel("monitor");
  QTRY_VERIFY(running->n_replots() > before);
}

void DocksTest::docks_that_nobody_sees_compute_nothing() {
  hold_a_request();
  fixture->window->bridge().refresh();
  QTRY_VERIFY(fixture->window->bridge().snapshot()->n_blocks_used > 0);
  QCOMPARE(fixture->find<QLabel>("kv.counts")->text(), QString());
  QCOMPARE(n_rows("requests.table"), 0);
  // Docks that are shown catch up with what they missed, though nothing happens any more.
  fixture->show_panel("kv");
  QTRY_VERIFY(!fixture->find<QLabel>("kv.counts")->text().isEmpty());
  fixture->show_panel("requests");
  QTRY_COMPARE(n_rows("requests.table"), 1);
  end_it();
}

void DocksTest::the_kv_map_counts_the_blocks_of_a_request() {
  fixture->show_panel("kv");
  auto* counts = fixture->find<QLabel>("kv.counts");
  QTRY_VERIFY2(counts->text().startsWith("<b>0</b> in use"), qPrintable(counts->text()));
  QVERIFY(fixture->find<ui::KvMap>("kv.map")->isVisible());
  hold_a_request();
  QTRY_VERIFY(fixture->window->bridge().snapshot()->n_blocks_used > 0);
  const int used = fixture->window->bridge().snapshot()->n_blocks_used;
  QTRY_VERIFY2(counts->text().startsWith(QString("<b>%1</b> in use").arg(used)), qPrintable(counts->text()));
  QTRY_VERIFY(fixture->find<QLabel>("kv.waste")->text().contains("contiguous"));
  end_it();
  QTRY_VERIFY(counts->text().startsWith("<b>0</b> in use"));
}

void DocksTest::blocks_are_watched_only_while_the_kv_dock_is_seen() {
  const ui::Bridge& bridge = fixture->window->bridge();
  ui::DockLayout& docks = fixture->window->docks();
  const auto n_watches = [this] { return fixture->engine()->n_block_watches(); };
  docks.dock("kv")->hide();
  fixture->show_panel("monitor");
  QTRY_VERIFY(bridge.snapshot() != nullptr);
  QTRY_COMPARE(n_watches(), 0);
  QTRY_VERIFY(bridge.snapshot()->blocks.empty());
  fixture->show_panel("kv");
  QTRY_COMPARE(n_watches(), 1);
  QTRY_COMPARE(static_cast<int>(bridge.snapshot()->blocks.size()), bridge.snapshot()->n_blocks);
  docks.dock("log")->show();
  fixture->window->tabifyDockWidget(docks.dock("kv"), docks.dock("log"));
  docks.dock("log")->raise();
  QTRY_COMPARE(n_watches(), 0);  // behind a tab
  fixture->show_panel("kv");
  QTRY_COMPARE(n_watches(), 1);
  docks.dock("kv")->hide();
  QTRY_COMPARE(n_watches(), 0);
  fixture->show_panel("kv");
  QTRY_COMPARE(n_watches(), 1);
  fixture->window->hide();
  QTRY_COMPARE(n_watches(), 0);
}

void DocksTest::layers_with_a_window_have_blocks_of_their_own() {
  reload(&FakeModel::n_window_blocks, 24);
  fixture->show_panel("kv");
  auto* counts = fixture->find<QLabel>("kv.counts");
  QTRY_VERIFY2(counts->text().endsWith("window 512: <b>0</b> of <b>24</b>"), qPrintable(counts->text()));
  hold_a_request();
  QTRY_VERIFY2(counts->text().endsWith("window 512: <b>1</b> of <b>24</b>"), qPrintable(counts->text()));
  end_it();
}

void DocksTest::recurrent_layers_have_a_row_of_states() {
  fixture->show_panel("kv");
  QVERIFY(!fixture->find<ui::StateMap>("kv.states")->isVisible());
  reload(&FakeModel::n_snapshots, 6);
  fixture->show_panel("kv");
  auto* states = fixture->find<ui::StateMap>("kv.states");
  auto* counts = fixture->find<QLabel>("kv.counts");
  QTRY_VERIFY2(counts->text().endsWith("states <b>0</b> of <b>4</b>, snapshots <b>1</b> of <b>6</b>"),
               qPrintable(counts->text()));
  QTRY_VERIFY(states->isVisible());
  hold_a_request();
  QTRY_VERIFY2(states->text_for(0).startsWith("State 0: request "), qPrintable(states->text_for(0)));
  QCOMPARE(states->text_for(4), QString("Snapshot 0: state after 96 tokens"));
  end_it();
}

void DocksTest::F9_freezes_the_kv_map() {
  fixture->show_panel("kv");
  auto* counts = fixture->find<QLabel>("kv.counts");
  hold_a_request();
  QTRY_VERIFY(!counts->text().isEmpty() && !counts->text().startsWith("<b>0</b>"));
  const QString before = counts->text();
  press_F9();
  end_it();
  QTRY_COMPARE(fixture->window->bridge().snapshot()->n_blocks_used, 0);
  QCOMPARE(counts->text(), before);
  press_F9();
  QVERIFY2(counts->text().startsWith("<b>0</b> in use"), qPrintable(counts->text()));
}

void DocksTest::without_a_model_the_kv_dock_says_so() {
  fixture->show_panel("kv");
  QTRY_VERIFY(fixture->find<ui::KvMap>("kv.map")->isVisible());
  fixture->trigger("model.unload");
  QTRY_VERIFY(fixture->find<QLabel>("kv.empty")->isVisible());
  QVERIFY(!fixture->find<ui::KvMap>("kv.map")->isVisible());
}

void DocksTest::what_is_reserved_and_empty_is_said_and_shown() {
  fixture->show_panel("kv");
  auto* counts = fixture->find<QLabel>("kv.counts");
  hold_a_request();
  QTRY_VERIFY(counts->text().contains("in use") && !counts->text().startsWith("<b>0</b>"));
  QVERIFY2(!counts->text().contains("reserved"), qPrintable(counts->text()));
  end_it();
  // The same under a policy that gives each request its room at once.
  reload(&FakeModel::n_reserved_blocks, 31);
  fixture->show_panel("kv");
  counts = fixture->find<QLabel>("kv.counts");
  hold_a_request();
  fixture->engine()->step(1);
  const QString reserved = QStringLiteral("(<b>31</b> reserved)");
  QTRY_VERIFY2(counts->text().contains(reserved), qPrintable(counts->text()));
  const auto* waste = fixture->find<QLabel>("kv.waste");
  const int used = fixture->window->bridge().snapshot()->n_blocks_used;
  const QString share = QString::number(3100.0 / used, 'f', 0);
  QTRY_VERIFY2(waste->text().contains("reserved <b>" + share + " %"), qPrintable(waste->text()));
  end_it();
  QTRY_VERIFY2(counts->text().startsWith("<b>0</b> in use (<b>0</b> reserved)"), qPrintable(counts->text()));
}

void DocksTest::padding_has_a_chart_where_there_is_any() {
  fixture->show_panel("monitor");
  hold_a_request();
  fixture->engine()->step(2);
  QTRY_VERIFY(n_samples(chart("monitor.requests")) > 2);
  QVERIFY(!chart("monitor.rows")->isVisible());
  end_it();
  reload(&FakeModel::n_padding, 3);
  fixture->show_panel("monitor");
  hold_a_request();
  fixture->engine()->step(1);
  QTRY_VERIFY(chart("monitor.rows")->isVisible());
  const auto last = [this] { return chart("monitor.rows")->history().samples(ui::Span::half_minute).back().values; };
  QTRY_COMPARE(last(), (std::vector<double>{1, 3}));  // rows that were wanted, and padding
  QVERIFY(chart("monitor.rows")->accessibleDescription().contains("padding 3"));
  fixture->click("monitor.as_table");
  QTRY_COMPARE(now_in_table("Rows per step, padding"), QString("3.00"));
  QCOMPARE(n_rows("monitor.table"), 11);
  end_it();
  QTRY_COMPARE(last(), (std::vector<double>{0, 0}));
}

void DocksTest::the_inspector_says_why() {
  fixture->show_panel("requests");
  QVERIFY(fixture->find<QLabel>("requests.empty")->isVisible());
  answer_one_request();
  QTRY_COMPARE(n_rows("requests.table"), 1);
  QTRY_COMPARE(fixture->find<QLabel>("requests.inspector.title")->text(), QString("#1"));
  auto* why = fixture->find<ui::WhyList>("requests.why");
  QVERIFY(why->isVisible());
  QTRY_VERIFY2(why->text().contains("No request ahead."), qPrintable(why->text()));
  const auto n_prompt = fixture->engine()->submitted().back().prompt_token_ids.size();
  const QString first = QString("First token; %1 prompt tokens computed.").arg(n_prompt);
  QTRY_VERIFY2(why->text().contains(first), qPrintable(why->text()));
  // The same from the message's own "Why?".
  fixture->say("And then?");
  QVERIFY(fixture->wait_reply());
  QTRY_COMPARE(n_rows("requests.table"), 2);
  Q_EMIT fixture->window->context().navigator.inspect_request(2);
  QTRY_COMPARE(fixture->find<QLabel>("requests.inspector.title")->text(), QString("#2"));
}

void DocksTest::why_brings_the_dock() {
  answer_one_request();
  QVERIFY(!fixture->find<QTableView>("requests.table")->isVisible());
  Q_EMIT fixture->window->context().navigator.inspect_request(1);
  QTRY_VERIFY(fixture->find<QTableView>("requests.table")->isVisible());
  QTRY_COMPARE(fixture->find<QLabel>("requests.inspector.title")->text(), QString("#1"));
}

/// The log keeps so many events of a request: the newest takes the place of one in the middle.
void DocksTest::the_why_list_follows_at_its_limit() {
  ui::WhyList list(*fixture->theme);
  std::vector<engine::SchedulerEvent> events(256);
  for (std::size_t i = 0; i < events.size(); ++i)
    events[i] = {.sequence = i + 1, .kind = engine::SchedulerEventKind::chunked, .n = {16, 512, 0, 64}};
  list.show_events(events, 1);
  const QString before = list.text();
  events.erase(events.begin() + 32);
  events.push_back({.sequence = 257, .kind = engine::SchedulerEventKind::prefilled, .n = {99}});
  list.show_events(events, 1);
  QVERIFY(list.text() != before);
  QVERIFY2(list.text().contains("99 prompt tokens"), qPrintable(list.text().right(200)));
}

void DocksTest::the_inspector_has_the_figures() {
  fixture->show_panel("requests");
  answer_one_request();
  QTRY_COMPARE(fixture->find<QLabel>("requests.inspector.title")->text(), QString("#1"));
  fixture->click("requests.inspector.tabs.1");
  auto* figures = fixture->find<QLabel>("requests.inspector.figures");
  QVERIFY(figures->isVisible());
  QTRY_VERIFY2(figures->text().contains("30 tok"), qPrintable(figures->text()));  // 29 bytes and the end
  QVERIFY(figures->text().contains("Lathe chat") && figures->text().contains("eos"));
}

void DocksTest::the_filter_picks_requests() {
  fixture->show_panel("requests");
  answer_one_request();
  fixture->engine()->fail_after(3, engine::Error{engine::ErrorCode::internal, "the step failed", "step"});
  fixture->trigger("chat.regenerate");
  QVERIFY(fixture->wait_reply());
  QTRY_COMPARE(n_rows("requests.table"), 2);
  auto* filter = fixture->find<QLineEdit>("requests.filter");
  filter->setText("status:error");
  QTRY_COMPARE(n_rows("requests.table"), 1);
  auto* table = fixture->find<QTableView>("requests.table");
  table->setCurrentIndex(table->model()->index(0, 0));
  QVERIFY(fixture->find<QLabel>("requests.inspector.error")->text().contains("the step failed"));
  filter->setText("status:done");
  QCOMPARE(n_rows("requests.table"), 1);
  filter->clear();
  QCOMPARE(n_rows("requests.table"), 2);
}

void DocksTest::a_paused_table_stands_still() {
  fixture->show_panel("requests");
  fixture->click("requests.pause");
  answer_one_request();
  fixture->window->bridge().refresh();
  QCOMPARE(n_rows("requests.table"), 0);
  fixture->click("requests.pause");
  QCOMPARE(n_rows("requests.table"), 1);
}

void DocksTest::clearing_leaves_the_running_requests() {
  fixture->show_panel("requests");
  answer_one_request();
  hold_a_request();
  QTRY_COMPARE(n_rows("requests.table"), 2);
  fixture->trigger("requests.clear");
  QCOMPARE(n_rows("requests.table"), 1);
  QCOMPARE(fixture->workbench->requests().records().front().number, std::uint64_t{2});
  end_it();
  fixture->click("requests.clear");
  QCOMPARE(n_rows("requests.table"), 0);
  QVERIFY(fixture->find<QLabel>("requests.empty")->isVisible());
}

void DocksTest::a_request_after_clearing_is_inspected() {
  fixture->show_panel("requests");
  answer_one_request();
  fixture->trigger("requests.clear");
  QVERIFY(!fixture->find<QLabel>("requests.inspector.title")->text().startsWith('#'));
  fixture->say("Again");
  QVERIFY(fixture->wait_reply());
  QTRY_COMPARE(fixture->find<QLabel>("requests.inspector.title")->text(), QString("#2"));
}

LATHE_WINDOW_TEST(DocksTest)

}  // namespace docks_test
#include "docks_test.moc"
