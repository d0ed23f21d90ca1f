// SPDX-License-Identifier: GPL-3.0-or-later
// One profile has one window: a second program hands over what it should open.
#include "ui/shell/first_window.h"

#include <QDir>
#include <QFile>
#include <QLocalSocket>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <optional>
#include <thread>

#include "tests/support/test_class.h"

namespace first_window_test {

using namespace lathe;

namespace {

std::string data_of(const QTemporaryDir& profile) { return profile.filePath("data").toStdString(); }

/// Sends what a second program with the same profile would send. It waits for the answer, so it has a thread of its own.
engine::Result<void> hand_over(const QTemporaryDir& profile, const ui::OpenRequest& request) {
  std::optional<engine::Result<void>> result;
  std::thread second([&] {
    ui::FirstWindow window(data_of(profile));
    if (!window.claim()) result = window.hand_over(request);
    else result = engine::fail(engine::ErrorCode::internal, "it was the first", "");
  });
  while (!result) QTest::qWait(5);
  second.join();
  return *result;
}

}  // namespace

class FirstWindowTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_second_program_hands_over_its_arguments() {
    const QTemporaryDir profile;
    ui::FirstWindow first(data_of(profile));
    QVERIFY(first.claim());
    std::vector<ui::OpenRequest> asked;
    connect(&first, &ui::FirstWindow::asked, &first, [&asked](const ui::OpenRequest& request) { asked.push_back(request); });
    QVERIFY(hand_over(profile, {"org/model with spaces", {{"max_num_seqs", "3"}}}).has_value());
    QVERIFY(hand_over(profile, {"", {}}).has_value());
    QCOMPARE(asked.size(), std::size_t{2});
    QCOMPARE(asked[0].model, std::string("org/model with spaces"));
    QCOMPARE(asked[0].options.at(0).first, std::string("max_num_seqs"));
    QCOMPARE(asked[0].options.at(0).second, std::string("3"));
    QVERIFY(asked[1].model.empty());
  }

  void a_relative_path_is_made_absolute() {
    const QTemporaryDir profile;
    ui::FirstWindow first(data_of(profile));
    QVERIFY(first.claim());
    std::string asked;
    connect(&first, &ui::FirstWindow::asked, &first, [&asked](const ui::OpenRequest& request) { asked = request.model; });
    QVERIFY(hand_over(profile, {".", {}}).has_value());
    QCOMPARE(asked, QDir::currentPath().toStdString());
  }

  void two_profiles_have_two_windows() {
    const QTemporaryDir one, other;
    ui::FirstWindow first(data_of(one)), second(data_of(other));
    QVERIFY(first.claim());
    QVERIFY(second.claim());
  }

  void the_profile_is_free_again_at_the_end() {
    const QTemporaryDir profile;
    { QVERIFY(ui::FirstWindow(data_of(profile)).claim()); }
    QVERIFY(ui::FirstWindow(data_of(profile)).claim());
  }

  void what_a_killed_process_left_does_not_count() {
    const QTemporaryDir profile;
    QVERIFY(QDir(profile.path()).mkpath("data"));
    QFile lock(profile.filePath("data/window.lock"));
    QVERIFY(lock.open(QIODevice::WriteOnly));
    lock.write("2147483000\nlathe\n" + QSysInfo::machineHostName().toUtf8() + "\n");  // no process has this number
    lock.close();
    QFile socket(profile.filePath("data/window.socket"));
    QVERIFY(socket.open(QIODevice::WriteOnly));
    socket.close();
    ui::FirstWindow first(data_of(profile));
    QVERIFY(first.claim());
    QVERIFY(hand_over(profile, {"model", {}}).has_value());
  }

  void nonsense_is_not_opened() {
    const QTemporaryDir profile;
    ui::FirstWindow first(data_of(profile));
    QVERIFY(first.claim());
    int n_asked = 0;
    connect(&first, &ui::FirstWindow::asked, &first, [&n_asked] { ++n_asked; });
    for (const QByteArray& bytes : {QByteArray("nonsense\n"), QByteArray("[1, 2]\n"), QByteArray(2 << 20, 'x')}) {
      QLocalSocket socket;
      socket.connectToServer(profile.filePath("data/window.socket"));
      QVERIFY(socket.waitForConnected());
      socket.write(bytes);
      QTRY_COMPARE(socket.state(), QLocalSocket::UnconnectedState);
    }
    QCOMPARE(n_asked, 0);
    QVERIFY(hand_over(profile, {"model", {}}).has_value());
    QCOMPARE(n_asked, 1);
  }

  void a_long_path_has_a_socket_too() {
    const QTemporaryDir profile;
    const std::string data = data_of(profile) + "/" + std::string(150, 'd');
    ui::FirstWindow first(data);
    QVERIFY(first.claim());
    QSignalSpy asked(&first, &ui::FirstWindow::asked);
    std::optional<bool> taken;
    std::thread second([&] {
      ui::FirstWindow window(data);
      taken = !window.claim() && window.hand_over({"model", {}}).has_value();
    });
    QTRY_VERIFY(taken.has_value());
    second.join();
    QVERIFY(*taken);
    QCOMPARE(asked.count(), 1);
  }
};

LATHE_WINDOW_TEST(FirstWindowTest)

}  // namespace first_window_test
#include "first_window_test.moc"
