// SPDX-License-Identifier: Apache-2.0
#include "app/api/workbench.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/fake_loader.h"
#include "tests/support/test_class.h"

namespace workbench_test {

namespace {

namespace fs = std::filesystem;
using lathe::app::ChatTurn;
using lathe::app::Workbench;
using lathe::app::WorkbenchOptions;
using lathe::tests::LoaderScript;

struct Bench {
  QTemporaryDir profile;
  std::shared_ptr<LoaderScript> script = std::make_shared<LoaderScript>();

  std::unique_ptr<Workbench> open(bool keep_history = true) const {
    WorkbenchOptions options;
    options.profile_dir = profile.path().toStdString();
    options.loader = lathe::tests::fake_loader(script);
    options.log.to_stderr = false;
    options.keep_history = keep_history;
    return std::move(*Workbench::create(std::move(options)));
  }
  std::string file(const char* name) const { return profile.filePath(name).toStdString(); }
};

}  // namespace

class WorkbenchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void it_starts_with_nothing_loaded();
  void everything_lies_in_the_profile();
  void settings_and_chats_survive_a_restart();
  void without_history_nothing_is_written();
  void problems_of_files_are_logged();
  void U3_settings_that_cannot_be_saved_are_told_once();
  void a_chat_runs_through_it();
  void U1_the_end_stops_a_running_answer();
  void the_log_file_lies_where_it_was_asked_for();
  void a_log_file_is_kept_while_the_setting_is_on();
  void the_version_is_three_numbers();
};

void WorkbenchTest::it_starts_with_nothing_loaded() {
  const Bench bench;
  const auto workbench = bench.open();
  QVERIFY(workbench->models().status().state == lathe::app::ModelState::none);
  QVERIFY(workbench->server().status().state == lathe::app::ServerState::off);
  QVERIFY(workbench->requests().records().empty());
  QVERIFY(workbench->history().chats().empty());
  QCOMPARE(bench.script->n_loads.load(), 0);
}

void WorkbenchTest::everything_lies_in_the_profile() {
  const Bench bench;
  const auto workbench = bench.open();
  const auto& paths = workbench->paths();
  for (const std::string& path : {paths.config, paths.data, paths.cache, paths.state}) {
    QVERIFY(QString::fromStdString(path).startsWith(bench.profile.path()));
  }
}

void WorkbenchTest::settings_and_chats_survive_a_restart() {
  const Bench bench;
  {
    const auto workbench = bench.open();
    workbench->settings().set("server/port", 8123);
    QVERIFY(workbench->history().create_chat("kept").has_value());
  }
  const auto workbench = bench.open();
  QCOMPARE(workbench->settings().get("server/port").get<int>(), 8123);
  QCOMPARE(workbench->history().chats().front().title, std::string("kept"));
}

void WorkbenchTest::without_history_nothing_is_written() {
  const Bench bench;
  {
    const auto workbench = bench.open(false);
    QVERIFY(workbench->history().create_chat("gone").has_value());
  }
  const fs::directory_iterator all(bench.profile.path().toStdString());
  QVERIFY(begin(all) == end(all));
}

void WorkbenchTest::problems_of_files_are_logged() {
  const Bench bench;
  fs::create_directories(bench.file("config"));
  fs::create_directories(bench.file("data"));
  std::ofstream(bench.file("config/settings.json")) << "rubbish";
  std::ofstream(bench.file("data/history.db")) << std::string(5000, 'x');
  const auto workbench = bench.open();
  std::uint64_t cursor = 0;
  const auto lines = workbench->log().lines_since(cursor);
  QCOMPARE(std::count_if(lines.begin(), lines.end(), [](const auto& line) { return line.category == "workbench"; }), 2);
}

void WorkbenchTest::U3_settings_that_cannot_be_saved_are_told_once() {
  const Bench bench;
  std::ofstream(bench.file("config")) << "a file where the folder should be";
  const auto workbench = bench.open();
  std::uint64_t cursor = 0;
  QVERIFY(workbench->log().lines_since(cursor).empty());  // nothing has been lost yet
  for (int port = 8100; port < 8103; ++port) {
    workbench->settings().set("server/port", port);
    QVERIFY(!workbench->settings().flush().has_value());
  }
  const auto lines = workbench->log().lines_since(cursor);
  QCOMPARE(lines.size(), std::size_t{1});
  QVERIFY(lines.front().level == lathe::app::LogLevel::warning);
  QVERIFY(lines.front().text.find("cannot be saved") != std::string::npos);
}

void WorkbenchTest::a_chat_runs_through_it() {
  const Bench bench;
  const auto workbench = bench.open();
  QVERIFY(workbench->models().load(lathe::tests::fake_options()).has_value());
  QVERIFY(workbench->models().wait().has_value());
  ChatTurn turn;
  turn.messages = {{"user", "hi"}};
  const auto generation = std::move(*start_chat(workbench->models(), workbench->requests(), turn));
  lathe::engine::TokenEvent event;
  while (!event.finished) QVERIFY(generation->wait(event, std::chrono::seconds(60)));
  QCOMPARE(workbench->requests().records().size(), std::size_t{1});
}

void WorkbenchTest::U1_the_end_stops_a_running_answer() {
  const Bench bench;
  bench.script->runner->before_run = [](const auto&) { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
  auto workbench = bench.open();
  QVERIFY(workbench->models().load(lathe::tests::fake_options()).has_value());
  QVERIFY(workbench->models().wait().has_value());
  const auto handle = *workbench->models().lease()->submit(lathe::tests::greedy_request({7, 8, 9}, 190));
  workbench.reset();
  const auto answer = lathe::tests::collect(*handle);
  QVERIFY(!answer.timed_out);
  QVERIFY(answer.all.finish_reason == lathe::engine::FinishReason::cancelled);
  QCOMPARE(bench.script->n_alive.load(), 0);
}

void WorkbenchTest::the_log_file_lies_where_it_was_asked_for() {
  const Bench bench;
  WorkbenchOptions options;
  options.profile_dir = bench.profile.path().toStdString();
  options.loader = lathe::tests::fake_loader(bench.script);
  options.log = {.to_stderr = false, .file = bench.file("state/lathe.log")};
  const auto workbench = std::move(*Workbench::create(std::move(options)));
  workbench->log().info("test", "hello");
  QVERIFY(fs::file_size(bench.file("state/lathe.log")) > 0);
}

void WorkbenchTest::a_log_file_is_kept_while_the_setting_is_on() {
  const Bench bench;
  const auto open_with_log = [&] {
    WorkbenchOptions options;
    options.profile_dir = bench.profile.path().toStdString();
    options.loader = lathe::tests::fake_loader(bench.script);
    options.log.to_stderr = false;
    options.log_name = "window";
    return std::move(*Workbench::create(std::move(options)));
  };
  const auto kept = [&] {
    QFile file(bench.profile.filePath("state/window.log"));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  };
  {
    const auto workbench = open_with_log();
    workbench->log().info("test", "first line");
    QVERIFY(kept().contains("first line"));
    workbench->settings().set("log/to_file", false);
  }
  const auto workbench = open_with_log();
  workbench->log().info("test", "second line");
  QVERIFY(!kept().contains("second line"));
}

void WorkbenchTest::the_version_is_three_numbers() {
  const std::string version = lathe::app::version();
  QCOMPARE(std::count(version.begin(), version.end(), '.'), 2);
}

LATHE_TEST(WorkbenchTest)

}  // namespace workbench_test
#include "workbench_test.moc"
