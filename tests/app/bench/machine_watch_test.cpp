// SPDX-License-Identifier: Apache-2.0
// Guards over machines that a test makes up.
#include "app/bench/machine_watch.h"

#include <unistd.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace machine_watch_test {

using namespace lathe;
using namespace lathe::app;

namespace {

/// A machine on which nothing is the matter.
class Machine {
 public:
  Machine() {
    processors(1000, 100, 0);
    put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 10 kB\nMemAvailable: 600 kB\n");
    put("proc/vmstat", "nr_free_pages 7\npswpin 5\npswpout 6\n");
    put("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
    put("sys/devices/system/cpu/cpufreq/x", "");
    put("sys/class/power_supply/AC/type", "Mains\n");
  }
  std::string root() const { return folder_.path().toStdString(); }
  void put(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = std::filesystem::path(root()) / file;
    std::filesystem::create_directories(path.parent_path());
    tests::write_file(path.string(), text);
  }
  /// Ticks since the start: `idle` of nobody, `busy` of all programs, `own` of this one.
  void processors(int idle, int busy, int own) const {
    put("proc/stat", "cpu  " + std::to_string(busy) + " 0 0 " + std::to_string(idle) + " 7 0 0 0 0 0\ncpu0 1 2 3\n");
    put("proc/self/stat", "12 (a ) name) R 1 2 3 4 5 6 7 8 9 10 " + std::to_string(own) + " 0 0 0 20 0\n");
  }

 private:
  QTemporaryDir folder_;
};

std::vector<std::string> names_of(const std::vector<MachineWarning>& warnings) {
  std::vector<std::string> names;
  for (const MachineWarning& warning : warnings) names.emplace_back(warning.guard);
  return names;
}

std::string warned(MachineWatch& watch) {
  std::string words;
  for (const MachineWarning& warning : watch.end()) words += text_of(warning) + "|";
  return words;
}

}  // namespace

class MachineWatchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_quiet_machine_gives_no_warning() {
    const Machine machine;
    MachineWatch watch(machine.root());
    machine.processors(1010, 290, 190);  // all of it our own
    QCOMPARE(warned(watch), std::string());
    MachineWatch nowhere("/nowhere/at/all");
    nowhere.begin();
    QCOMPARE(warned(nowhere), std::string());
  }

  void a_battery_that_empties_is_told() {
    const Machine machine;
    MachineWatch watch(machine.root());
    machine.put("sys/class/power_supply/BAT0/type", "Battery\n");
    machine.put("sys/class/power_supply/BAT0/status", "Charging\n");
    QCOMPARE(warned(watch), std::string());
    machine.put("sys/class/power_supply/BAT0/status", "Discharging\n");
    QVERIFY(warned(watch).starts_with("on battery"));
    machine.put("sys/class/power_supply/BAT0/scope", "Device\n");  // of a mouse
    QCOMPARE(warned(watch), std::string());
  }

  void a_governor_that_saves_power_is_told() {
    const Machine machine;
    MachineWatch watch(machine.root());
    machine.put("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
    QVERIFY(warned(watch).find("50 % of the processors have a governor") != std::string::npos);
  }

  /// 190 of 200 ticks were busy, 160 of them by this program: other programs took 15 %.
  void what_others_take_is_told() {
    const Machine machine;
    MachineWatch watch(machine.root());
    machine.processors(1010, 290, 160);
    QCOMPARE(warned(watch), std::string("other programs took 15 % of the processors during a run|"));
    watch.begin();
    machine.processors(1020, 480, 340);  // 10 of 200: not more than is told
    QCOMPARE(warned(watch), std::string());
    MachineWatch target(machine.root(), false);
    machine.processors(1020, 680, 340);
    QCOMPARE(warned(target), std::string());
  }

  /// The chat of this program computes on the same processors; what it said between runs does not count.
  void what_this_program_does_beside_is_told() {
    const Machine machine;
    std::uint64_t tokens = 100;
    MachineWatch watch(machine.root(), true, [&] { return tokens; });
    tokens = 150;
    QCOMPARE(warned(watch), std::string("the model of this program computed 50 tokens of chats or requests during a run|"));
    tokens = 170;
    watch.begin();
    QCOMPARE(warned(watch), std::string());
    tokens = 5;  // of another model
    QVERIFY(warned(watch).find(" 5 tokens ") != std::string::npos);
  }

  /// Thirty runs of 10 ticks: the clock says something of them together. What happens between runs does not count.
  void short_runs_are_judged_together() {
    const Machine machine;
    MachineWatch watch(machine.root());
    int n_told = 0;
    for (int i = 0; i < 30; ++i) {
      machine.processors(1000 + 100 * i, 100 + 1000 * i, 0);  // others work between the runs
      watch.begin();
      machine.processors(1000 + 100 * i, 110 + 1000 * i, 5);
      n_told += names_of(watch.end()).empty() ? 0 : 1;
    }
    QCOMPARE(n_told, 3);
  }

  void memory_that_runs_out_and_swapping_are_told() {
    const Machine machine;
    MachineWatch watch(machine.root());
    machine.put("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 40 kB\n");
    const auto pages = 8 * (1 << 20) / ::sysconf(_SC_PAGESIZE);
    machine.put("proc/vmstat",
                "pswpin " + std::to_string(5 + pages / 2) + "\npswpout " + std::to_string(6 + pages / 2) + "\n");
    const auto warnings = watch.end();
    QCOMPARE(names_of(warnings), (std::vector<std::string>{"memory", "swap"}));
    QVERIFY(text_of(warnings[0]).starts_with("96.0 % of the memory"));
    QCOMPARE(text_of(warnings[1]), std::string("8 MiB were swapped during a run"));
    watch.begin();
    QCOMPARE(names_of(watch.end()), std::vector<std::string>{"memory"});
  }

  void the_worst_of_each_is_kept_and_read_again() {
    std::vector<MachineWarning> all = {{"swap", 5e6}};
    keep_worst(all, std::vector<MachineWarning>{{"other_load", 0.2}, {"swap", 3e6}});
    keep_worst(all, std::vector<MachineWarning>{{"other_load", 0.4}});
    QCOMPARE(names_of(all), (std::vector<std::string>{"other_load", "swap"}));
    QCOMPARE(all[0].value, 0.4);
    QCOMPARE(all[1].value, 5e6);
    const auto again = machine_warnings_from(engine::Json::parse(engine::dump_json(to_json(all))));
    QVERIFY(again.has_value() && again->size() == 2 && (*again)[1].value == 5e6);
    QVERIFY(machine_warnings_from(engine::Json{{"earthquake", 1}})->empty());
    QVERIFY(!machine_warnings_from(engine::Json{{"swap", "much"}}).has_value());
    for (const MachineGuard& guard : machine_guards()) QVERIFY(!guard.words(guard.most).empty());
  }
};

LATHE_TEST(MachineWatchTest)

}  // namespace machine_watch_test
#include "machine_watch_test.moc"
