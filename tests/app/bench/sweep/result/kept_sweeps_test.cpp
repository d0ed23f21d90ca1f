// SPDX-License-Identifier: Apache-2.0
// Kept sweeps: what is said of a journal without running it, and how one is renamed and removed.
#include "app/api/kept_sweeps.h"

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "app/bench/sweep/result/sweep_journal.h"
#include "tests/support/test_class.h"

namespace kept_sweeps_test {

using namespace lathe;
using namespace lathe::app;
using engine::ErrorCode;

namespace {

namespace fs = std::filesystem;

SweepPlan plan_of(const std::string& name) {
  SweepPlan plan;
  plan.name = name;
  plan.options.model = "/models/small/";
  plan.variables = {{"concurrency", {"1", "2"}}, {"block_size", {"8", "16"}}};
  plan.repeats = 2;
  return plan;
}

std::vector<double> sample(double rate) {
  std::vector<double> values(sweep_metrics().size(), 1.0);
  values[metric_index("output_tok_s")] = rate;
  return values;
}

/// Two cells with all their runs, one with the first of two, one that failed.
void write_journal(const std::string& path, const std::string& name) {
  auto journal = SweepJournal::open(path, plan_of(name), false);
  QVERIFY(journal.has_value());
  for (const std::size_t cell : {0, 0, 1, 1, 2})
    QVERIFY(journal->add_sample(cell, sample(100.0 + double(cell))).has_value());
  QVERIFY(journal->add_failure(3, "no room").has_value());
}

}  // namespace

class KeptSweepsTest : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> folder_;
  std::string path() const { return folder_->filePath("one.jsonl").toStdString(); }

 private Q_SLOTS:
  void init() { folder_ = std::make_unique<QTemporaryDir>(); }

  void facts_are_those_of_the_journal() {
    write_journal(path(), "Small");
    const auto facts = facts_of_sweep(path());
    QVERIFY(facts.has_value());
    QCOMPARE(facts->kept.name, std::string("Small"));
    QCOMPARE(facts->subject, std::string("small"));
    QCOMPARE(facts->variables, (std::vector<std::string>{"concurrency", "block_size"}));
    QCOMPARE(facts->kept.cells_total, std::size_t{4});
    QCOMPARE(facts->kept.cells_done, std::size_t{3});
    QCOMPARE(facts->cells_failed, std::size_t{1});
    QCOMPARE(facts->bytes, static_cast<std::int64_t>(fs::file_size(path())));
    QVERIFY(facts->kept.unix_ms > 0);
  }

  void what_cannot_be_read_is_left_out() {
    write_journal(path(), "Small");
    const std::string broken = folder_->filePath("broken.jsonl").toStdString();
    std::ofstream(broken) << "{\"plan\": 7}\n";
    QVERIFY(!facts_of_sweep(broken).has_value());
    std::vector<KeptSweep> kept(2);
    kept[0].path = broken;
    kept[1].path = path();
    const std::vector<SweepFacts> facts = facts_of_sweeps(kept);
    QCOMPARE(facts.size(), std::size_t{1});
    QCOMPARE(facts[0].kept.path, path());
  }

  void a_renamed_sweep_has_its_results_and_its_time() {
    write_journal(path(), "Small");
    const auto long_ago = fs::last_write_time(path()) - std::chrono::hours(48);
    fs::last_write_time(path(), long_ago);
    QVERIFY(rename_sweep(path(), "Before the change").has_value());
    const auto record = read_sweep(path());
    QVERIFY(record.has_value());
    QCOMPARE(record->plan.name, std::string("Before the change"));
    QCOMPARE(record->report.cells.size(), std::size_t{4});
    QCOMPARE(record->report.cells.at(2).samples.size(), std::size_t{1});
    QVERIFY(fs::last_write_time(path()) == long_ago);
    // It is gone on with under its new name.
    QVERIFY(SweepJournal::open(path(), record->plan, true).has_value());
    QCOMPARE(std::distance(fs::directory_iterator(folder_->path().toStdString()), fs::directory_iterator()), 1);
  }

  void a_sweep_that_runs_keeps_its_name_and_its_journal() {
    write_journal(path(), "Small");
    {
      const auto writer = SweepJournal::open(path(), plan_of("Small"), true);
      QVERIFY(writer.has_value());
      const auto renamed = rename_sweep(path(), "Other");
      QVERIFY(!renamed.has_value());
      QCOMPARE(renamed.error().code, ErrorCode::conflict);
      QCOMPARE(remove_sweep(path()).error().code, ErrorCode::conflict);
    }
    QCOMPARE(read_sweep(path())->plan.name, std::string("Small"));
    QVERIFY(remove_sweep(path()).has_value());
    QVERIFY(!fs::exists(path()));
  }

  void only_journals_are_removed() {
    const std::string text = folder_->filePath("notes.txt").toStdString();
    std::ofstream(text) << "not a journal\n";
    QVERIFY(!remove_sweep(text).has_value());
    QVERIFY(!rename_sweep(text, "x").has_value());
    QVERIFY(fs::exists(text));
    QCOMPARE(remove_sweep(path()).error().code, ErrorCode::not_found);
  }
};

LATHE_TEST(KeptSweepsTest)

}  // namespace kept_sweeps_test
#include "kept_sweeps_test.moc"
