// SPDX-License-Identifier: GPL-3.0-or-later
// Windows come back onto a screen when the screens are others.
#include "ui/shell/screens.h"

#include <QDir>
#include <QDockWidget>
#include <QScreen>
#include <QSettings>
#include <QTest>

#include "tests/support/test_class.h"
#include "tests/ui/window_fixture.h"

namespace screens_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

using Screens = QList<QRect>;

QRect whole_screen() { return QGuiApplication::primaryScreen()->availableGeometry(); }

void write_geometry(const QTemporaryDir& profile, const QRect& rect, Qt::WindowStates states) {
  QWidget window;
  window.setGeometry(rect);
  window.setWindowState(states);
  QVERIFY(QDir(profile.path()).mkpath("config"));
  QSettings file(profile.filePath("config/window.ini"), QSettings::IniFormat);
  file.setValue("window/geometry", window.saveGeometry());
}

}  // namespace

class ScreensTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_window_comes_onto_a_screen_data() {
    QTest::addColumn<QRect>("window");
    QTest::addColumn<Screens>("screens");
    QTest::addColumn<QRect>("wanted");
    const QRect one(0, 0, 1920, 1080), right(1920, 0, 1280, 1024), above(0, -900, 1440, 900);
    QTest::newRow("inside") << QRect(10, 20, 800, 600) << Screens{one} << QRect(10, 20, 800, 600);
    QTest::newRow("over two") << QRect(1500, 10, 900, 600) << Screens{one, right} << QRect(1500, 10, 900, 600);
    QTest::newRow("of the report") << QRect(9000, 10, 800, 600) << Screens{one} << QRect(1120, 10, 800, 600);
    QTest::newRow("left and above") << QRect(-9000, -9000, 800, 600) << Screens{one} << QRect(0, 0, 800, 600);
    QTest::newRow("an edge shows") << QRect(1910, 500, 800, 600) << Screens{one} << QRect(1120, 480, 800, 600);
    QTest::newRow("title above") << QRect(100, -40, 800, 600) << Screens{one} << QRect(100, 0, 800, 600);
    QTest::newRow("most on the second") << QRect(1900, 900, 800, 600) << Screens{one, right} << QRect(1920, 424, 800, 600);
    QTest::newRow("nearest") << QRect(100, -3000, 800, 600) << Screens{one, above} << QRect(100, -900, 800, 600);
    QTest::newRow("larger") << QRect(-100, -100, 4000, 3000) << Screens{one} << QRect(0, 0, 1920, 1080);
    QTest::newRow("between screens") << QRect(1900, 0, 100, 1080) << Screens{one, right} << QRect(1920, 0, 100, 1024);
    QTest::newRow("no screen") << QRect(9000, 10, 800, 600) << Screens{} << QRect(9000, 10, 800, 600);
  }
  void a_window_comes_onto_a_screen() {
    QFETCH(QRect, window);
    QFETCH(Screens, screens);
    QTEST(ui::rect_on_screens(window, screens), "wanted");
  }

  void least_sizes_keep_the_title_bar() {
    QCOMPARE(ui::rect_on_screens({50, 50, 900, 700}, {{0, 0, 640, 480}}, {760, 520}), QRect(0, 0, 760, 520));
  }

  void the_first_window_is_no_larger_than_its_screen_data() {
    QTest::addColumn<QRect>("screen");
    QTest::addColumn<QRect>("wanted");
    QTest::addColumn<bool>("maximised");
    QTest::newRow("large") << QRect(0, 0, 2560, 1440) << QRect(560, 270, 1440, 900) << false;
    QTest::newRow("as designed") << QRect(0, 0, 1440, 900) << QRect(0, 0, 1440, 900) << false;
    QTest::newRow("laptop") << QRect(0, 0, 1366, 768) << QRect(0, 0, 1366, 768) << true;
    QTest::newRow("small") << QRect(0, 0, 1024, 700) << QRect(0, 0, 1024, 700) << true;
    QTest::newRow("below a panel") << QRect(0, 30, 1920, 850) << QRect(240, 30, 1440, 850) << true;
  }
  void the_first_window_is_no_larger_than_its_screen() {
    QFETCH(QRect, screen);
    const ui::FirstPlace place = ui::first_place({1440, 900}, screen);
    QTEST(place.rect, "wanted");
    QTEST(place.maximised, "maximised");
    QVERIFY(screen.contains(place.rect));
  }

  void the_first_window_takes_a_small_screen() {
    QTemporaryDir profile;
    app::WorkbenchOptions options;
    options.profile_dir = profile.path().toStdString();
    options.log.to_stderr = false;
    options.loader = fake_loader(FakeLoad());
    const auto workbench = app::Workbench::create(std::move(options));
    QVERIFY(workbench.has_value());
    ui::Theme theme;
    ui::MainWindow window(**workbench, theme);
    window.set_ask_before_closing(false);
    window.show();
    // The offscreen screen is 800 x 800, and its platform puts a frame of 2 pixels around a window as large as that.
    QVERIFY(window.isMaximized());
    QCOMPARE(window.size(), whole_screen().size());
    QVERIFY2(whole_screen().contains(window.normalGeometry()), QTest::toString(window.normalGeometry()));
  }

  void a_window_does_not_move_from_start_to_start() {
    QTemporaryDir profile;
    QRect place;
    {
      WindowFixture first({}, profile.path());
      // A title bar has no room above it; the frame of the offscreen platform has 2 pixels.
      first.window->setGeometry(2, 2, 790, 700);
      place = first.window->geometry();
    }
    for (int i = 0; i < 3; ++i) {
      WindowFixture next({}, profile.path());
      QCOMPARE(next.window->geometry(), place);
    }
  }

  void the_main_window_comes_back_data() {
    QTest::addColumn<QRect>("stored");
    QTest::addColumn<int>("states");
    for (const Qt::WindowState state : {Qt::WindowNoState, Qt::WindowMaximized}) {
      const QByteArray name = state == Qt::WindowNoState ? "" : ", maximized";
      QTest::newRow("far right" + name) << QRect(9000, 100, 800, 600) << int(state);
      QTest::newRow("far above" + name) << QRect(10, -5000, 800, 600) << int(state);
      QTest::newRow("huge" + name) << QRect(-3000, -3000, 20000, 20000) << int(state);
    }
  }
  void the_main_window_comes_back() {
    QFETCH(QRect, stored);
    QFETCH(int, states);
    QTemporaryDir profile;
    write_geometry(profile, stored, Qt::WindowStates(states));
    WindowFixture fixture({}, profile.path());
    const QRect frame = fixture.window->frameGeometry();
    // The window is no smaller than its least size, the offscreen screen is 800 x 800.
    QVERIFY2(whole_screen().contains(frame.topLeft()), QTest::toString(frame));
    QVERIFY(frame.left() == whole_screen().left() || whole_screen().contains(frame));
  }

  void a_size_of_the_same_screens_stays() {
    QTemporaryDir profile;
    {
      WindowFixture first({}, profile.path());
      first.window->setGeometry(9000, 9000, 1200, 650);
    }
    WindowFixture second({}, profile.path());
    QCOMPARE(second.window->size(), QSize(1200, 650));
    QVERIFY(whole_screen().contains(second.window->frameGeometry().topLeft()));
  }

  void docks_that_float_come_back() {
    QTemporaryDir profile;
    {
      WindowFixture first({}, profile.path());
      QDockWidget* dock = first.window->docks().dock("sampling");
      dock->setFloating(true);
      dock->setGeometry(9000, 9000, 320, 400);
    }
    WindowFixture second({}, profile.path());
    QDockWidget* dock = second.window->docks().dock("sampling");
    QVERIFY(dock->isFloating());
    QVERIFY2(whole_screen().contains(dock->frameGeometry().topLeft()), QTest::toString(dock->frameGeometry()));
  }
};

LATHE_WINDOW_TEST(ScreensTest)

}  // namespace screens_test
#include "screens_test.moc"
