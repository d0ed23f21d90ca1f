// SPDX-License-Identifier: GPL-3.0-or-later
// Docks and pages share the window without overlap at every size, and the focus never leaves what can be seen.
#include <QDockWidget>
#include <QScrollArea>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"

namespace window_layout_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr QSize kSizes[] = {{1024, 700}, {1180, 720}, {1366, 768}, {1440, 900}, {2560, 1440}};
const QStringList kLayouts{"chat", "serving", "benchmark", "everything"};
const QStringList kPages{"chat", "serve", "bench"};

QString shown_as(const QRect& rect) {
  return QString("%1,%2 %3x%4").arg(rect.x()).arg(rect.y()).arg(rect.width()).arg(rect.height());
}

/// Qt moves docks behind a tab out of the window.
bool is_in_front(const QDockWidget& dock) {
  return dock.isVisible() && !dock.isFloating() && dock.geometry().right() >= 0 && dock.geometry().bottom() >= 0;
}

/// The part of a widget that its parents and the window show, in coordinates of the window.
QRect shown_rect(const QWidget& widget, const QWidget& window) {
  if (!widget.isVisible()) return {};
  QRect shown(widget.mapTo(&window, QPoint()), widget.size());
  for (const QWidget* parent = widget.parentWidget(); parent != nullptr; parent = parent->parentWidget()) {
    shown &= QRect(parent == &window ? QPoint() : parent->mapTo(&window, QPoint()), parent->size());
    if (parent == &window) break;
  }
  return shown;
}

/// Docks that a user sees in the window, and the page, with their places.
QList<QPair<QString, QRect>> parts_of(const ui::MainWindow& window) {
  QList<QPair<QString, QRect>> parts{{"page", window.centralWidget()->geometry()}};
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>())
    if (is_in_front(*dock)) parts.append({dock->objectName(), dock->geometry()});
  return parts;
}

/// Faults of the layout: parts that intersect, leave the window, or are smaller than they may be.
QStringList faults_of(const ui::MainWindow& window) {
  QStringList faults;
  const auto parts = parts_of(window);
  for (qsizetype i = 0; i < parts.size(); ++i) {
    const auto& [name, place] = parts[i];
    if (!window.rect().contains(place)) faults << name + " leaves the window: " + shown_as(place);
    for (qsizetype j = i + 1; j < parts.size(); ++j)
      if (place.intersects(parts[j].second))
        faults << name + " " + shown_as(place) + " intersects " + parts[j].first + " " + shown_as(parts[j].second);
  }
  for (const QDockWidget* dock : window.findChildren<QDockWidget*>()) {
    if (!is_in_front(*dock)) continue;
    const QSize least = dock->minimumSizeHint().expandedTo(dock->minimumSize());
    if (dock->width() < least.width() || dock->height() < least.height())
      faults << dock->objectName() + " is smaller than its minimum: " + shown_as(dock->geometry());
  }
  return faults;
}

/// Widgets that Tab reaches from where the focus is, until one comes again.
struct TabWalk {
  QStringList unseen;  ///< widgets that have the focus and cannot be seen
  qsizetype n_widgets = 0;
  bool is_closed = false;  ///< it ends where it began: no widgets keep the focus among them
  QString last;
};

TabWalk walk_by_tab(ui::MainWindow& window) {
  TabWalk walk;
  QList<const QWidget*> met;
  for (int i = 0; i < 600; ++i) {
    QWidget* const before = QApplication::focusWidget();
    QTest::keyClick(before != nullptr ? before : &window, Qt::Key_Tab);
    const QWidget* focus = QApplication::focusWidget();
    walk.is_closed = focus != nullptr && !met.isEmpty() && focus == met.first();
    if (focus == nullptr || met.contains(focus)) break;
    met.append(focus);
    walk.last = focus->objectName();
    if (shown_rect(*focus, window).isEmpty())
      walk.unseen << walk.last + " at " + shown_as({focus->mapTo(&window, QPoint()), focus->size()});
  }
  walk.n_widgets = met.size();
  return walk;
}

}  // namespace

class WindowLayoutTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void no_parts_overlap_data() {
    QTest::addColumn<QSize>("size");
    QTest::addColumn<QString>("layout");
    for (const QSize& size : kSizes)
      for (const QString& layout : kLayouts)
        QTest::newRow(qPrintable(QString("%1x%2 %3").arg(size.width()).arg(size.height()).arg(layout))) << size << layout;
  }
  void no_parts_overlap() {
    QFETCH(QSize, size);
    QFETCH(QString, layout);
    WindowFixture fixture;
    fixture.window->resize(size);
    for (const QString& page : kPages) {
      fixture.window->show_page(page);
      fixture.trigger(qPrintable("layout." + layout));
      fixture.window->show_page(page);
      QStringList faults;
      // The layout settles in a few events.
      const bool is_good = QTest::qWaitFor([&] { return (faults = faults_of(*fixture.window)).isEmpty(); }, 1500);
      QVERIFY2(is_good, qPrintable(page + ": " + faults.join("; ")));
    }
  }

  void docks_scroll_where_they_are_too_small() {
    WindowFixture fixture;
    fixture.window->resize(1440, 900);
    fixture.trigger("layout.everything");
    QDockWidget* monitor = fixture.window->docks().dock("monitor");
    const auto* scroll = monitor->findChild<QScrollArea*>("dock");
    const auto* panel = monitor->findChild<QWidget*>("monitor");
    QVERIFY(scroll != nullptr && panel != nullptr);
    QTRY_VERIFY(panel->width() >= panel->minimumSizeHint().width());
    QVERIFY(scroll->isAncestorOf(panel));
  }

  void each_page_has_its_docks() {
    WindowFixture fixture;
    ui::DockLayout& docks = fixture.window->docks();
    QVERIFY(docks.area_visible(ui::PanelArea::left) && docks.area_visible(ui::PanelArea::right));
    fixture.trigger("page.serve");
    QVERIFY(!docks.area_visible(ui::PanelArea::left));
    QVERIFY(docks.dock("requests")->isVisible() && docks.dock("monitor")->isVisible() && docks.dock("kv")->isVisible());
    docks.dock("kv")->hide();
    fixture.trigger("page.bench");
    QVERIFY(!docks.area_visible(ui::PanelArea::bottom) && !docks.area_visible(ui::PanelArea::left));
    fixture.trigger("page.chat");
    QVERIFY(docks.area_visible(ui::PanelArea::left) && !docks.area_visible(ui::PanelArea::bottom));
    fixture.trigger("page.serve");
    QVERIFY(docks.dock("requests")->isVisible() && !docks.dock("kv")->isVisible());
    fixture.trigger("layout.reset");
    fixture.trigger("page.serve");
    QVERIFY(docks.dock("kv")->isVisible());
  }

  void the_docks_of_each_page_survive_the_window() {
    QTemporaryDir profile;
    {
      WindowFixture first({}, profile.path());
      first.window->docks().set_area_visible(ui::PanelArea::right, false);
      first.trigger("page.serve");
      first.window->docks().dock("monitor")->hide();
    }
    WindowFixture second({}, profile.path());
    QCOMPARE(second.window->page(), QString("serve"));
    QVERIFY(!second.window->docks().dock("monitor")->isVisible());
    QVERIFY(second.window->docks().dock("requests")->isVisible());
    second.trigger("page.chat");
    QVERIFY(second.window->docks().area_visible(ui::PanelArea::left));
    QVERIFY(!second.window->docks().area_visible(ui::PanelArea::right));
  }

  void docks_that_float_stay_on_every_page() {
    WindowFixture fixture;
    QDockWidget* sampling = fixture.window->docks().dock("sampling");
    sampling->setFloating(true);
    QCoreApplication::processEvents();
    const QRect place = sampling->geometry();
    for (const char* page : {"serve", "bench", "chat"}) {
      fixture.window->show_page(page);
      QVERIFY2(sampling->isFloating() && sampling->isVisible(), page);
      QCOMPARE(sampling->geometry(), place);
    }
  }

  void a_page_chosen_while_narrow_has_its_docks_when_wide() {
    WindowFixture fixture;
    fixture.window->resize(1024, 700);
    QTRY_VERIFY(fixture.window->docks().narrow());
    fixture.window->show_page("serve");
    fixture.window->resize(1440, 900);
    QTRY_VERIFY(!fixture.window->docks().narrow());
    QTRY_VERIFY(fixture.window->docks().dock("requests")->isVisible());
    fixture.window->show_page("chat");
    QVERIFY(fixture.window->docks().area_visible(ui::PanelArea::left));
  }

  void contents_behind_a_tab_are_hidden() {
    WindowFixture fixture;
    QTRY_VERIFY(!fixture.find<QWidget>("chat_list")->isVisible());
    QVERIFY(fixture.find<QWidget>("model")->isVisible());
    fixture.show_panel("chat_list");
    QTRY_VERIFY(!fixture.find<QWidget>("model")->isVisible());
    QVERIFY(fixture.find<QWidget>("chat_list")->isVisible());
  }

  void tab_stays_in_the_window_data() {
    QTest::addColumn<QString>("page");
    QTest::addColumn<QString>("layout");
    QTest::addColumn<QSize>("size");
    for (const QString& page : kPages)
      for (const QString& layout : kLayouts)
        for (const QSize& size : {QSize(1024, 700), QSize(1440, 900)})
          QTest::newRow(qPrintable(QString("%1 %2 %3").arg(page, layout).arg(size.width()))) << page << layout << size;
  }
  void tab_stays_in_the_window() {
    QFETCH(QString, page);
    QFETCH(QString, layout);
    QFETCH(QSize, size);
    WindowFixture fixture;
    fixture.window->resize(size);
    fixture.trigger(qPrintable("layout." + layout));
    fixture.window->show_page(page);
    fixture.window->activateWindow();
    QVERIFY(QTest::qWaitForWindowActive(fixture.window.get()));
    QCoreApplication::processEvents();
    const TabWalk walk = walk_by_tab(*fixture.window);
    QVERIFY2(walk.unseen.isEmpty(), qPrintable(walk.unseen.join("; ")));
    QVERIFY2(walk.is_closed, qPrintable("the focus stays behind " + walk.last));
    QVERIFY2(walk.n_widgets > 15, qPrintable(QString::number(walk.n_widgets)));
  }
};

LATHE_WINDOW_TEST(WindowLayoutTest)

}  // namespace window_layout_test
#include "window_layout_test.moc"
