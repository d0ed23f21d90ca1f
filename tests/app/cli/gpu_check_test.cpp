// SPDX-License-Identifier: Apache-2.0
// packaging/gpu_check, which measures on machines with a GPU: here its order, its table and its exit status, on the
// processor.
#include <QFile>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

#include "engine/api/json.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace gpu_check_test {

namespace {

struct Check {
  int code = -1;
  QString out, err;
  QStringList results;  ///< lines of results.jsonl
};

Check run(const QStringList& arguments) {
  const QTemporaryDir folder;
  QProcess process;
  QStringList words = {QString::fromStdString(lathe::tests::source_path("packaging/gpu_check")), "--lathe",
                       LATHE_BINARY_DIR "/bin/lathe", "--out", folder.path()};
  process.start("python3", words + arguments);
  Check check;
  if (!process.waitForFinished(120'000)) return check;
  check.code = process.exitCode();
  check.out = QString::fromUtf8(process.readAllStandardOutput());
  check.err = QString::fromUtf8(process.readAllStandardError());
  QFile results(folder.filePath("results.jsonl"));
  if (results.open(QFile::ReadOnly)) check.results = QString::fromUtf8(results.readAll()).split('\n', Qt::SkipEmptyParts);
  return check;
}

/// The line of the table that begins with the phase; empty: there is none.
QString line_of(const Check& check, const QString& phase) {
  for (const QString& line : check.out.split('\n')) {
    if (line.startsWith(phase + ' ')) return line;
  }
  return {};
}

}  // namespace

class GpuCheckTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase();
  void an_unknown_phase_is_wrong_usage();
  void what_cannot_run_does_not_stop_the_rest();
  void what_fails_does_not_stop_the_rest();
  void without_time_nothing_runs();
};

void GpuCheckTest::initTestCase() {
  QVERIFY2(!QStandardPaths::findExecutable("python3").isEmpty(), "packaging/packages.txt installs python3");
}

void GpuCheckTest::an_unknown_phase_is_wrong_usage() {
  const Check check = run({"selftest", "selftets"});
  QCOMPARE(check.code, 2);
  QVERIFY2(check.err.contains("there is no phase selftets; the phases are card, selftest, "), qPrintable(check.err));
  QVERIFY(check.results.isEmpty());
}

void GpuCheckTest::what_cannot_run_does_not_stop_the_rest() {
  const Check check = run({"--device", "cpu", "--shape", "tiny", "--prompt", "16", "card", "server", "memcheck"});
  QVERIFY2(check.code == 77, qPrintable(check.out + check.err));
  QVERIFY2(line_of(check, "card").contains("could not run") && line_of(check, "card").contains("is the processor"),
           qPrintable(check.out));
  QVERIFY2(line_of(check, "server").contains("passed"), qPrintable(check.out));
  QVERIFY(line_of(check, "memcheck").contains("could not run"));
  QVERIFY2(check.out.contains("64 clients: output"), qPrintable(check.out));
  int n_outcomes = 0;
  for (const QString& line : check.results) {
    const auto json = lathe::engine::parse_json(line.toStdString(), "results.jsonl");
    QVERIFY2(json.has_value() && json->contains("phase") && json->contains("card"), qPrintable(line));
    n_outcomes += json->at("name") == "outcome";
  }
  QCOMPARE(n_outcomes, 3);
}

void GpuCheckTest::what_fails_does_not_stop_the_rest() {
  const Check check = run({"--device", "cpu", "--shape", "huge", "depth", "card"});
  QCOMPARE(check.code, 1);
  // Both parts of the phase were tried.
  QVERIFY2(line_of(check, "depth").contains("FAILED") && line_of(check, "depth").contains("int8: exit status 3"),
           qPrintable(check.out));
  QVERIFY(line_of(check, "card").contains("could not run"));
}

void GpuCheckTest::without_time_nothing_runs() {
  const Check check = run({"--device", "cpu", "--shape", "tiny", "--budget", "0", "bench"});
  QCOMPARE(check.code, 77);
  QVERIFY2(line_of(check, "bench").contains("no time is left"), qPrintable(check.out));
}

LATHE_TEST(GpuCheckTest)

}  // namespace gpu_check_test
#include "gpu_check_test.moc"
