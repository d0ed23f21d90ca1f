// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of the workload in the Bench plan are those of the table: one row more is a control, one row less is none.
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QSpinBox>
#include <QTest>

#include "tests/support/test_class.h"
#include "ui/panels/bench/plan/work_rows.h"

namespace bench_work_rows_test {

using namespace lathe;
using namespace lathe::ui;
using app::SweepWorkload;
using app::WorkloadField;
using app::WorkloadSection;

namespace {

QString name_of(const WorkloadField& field) {
  return QString::fromUtf8(field.option.name.data(), static_cast<qsizetype>(field.option.name.size()));
}

/// Values that no setting has by default and that the controls can show.
SweepWorkload unusual_work() {
  SweepWorkload work{.prompt_tokens = 64, .output_tokens = 32};
  work.length_spread = 1.5;
  work.length_distribution = "lognormal";
  work.shared_prefix = 0.25;
  work.too_long = "cut";
  work.requests = 7;
  work.load = "poisson";
  work.concurrency = 3;
  work.rate = 2.25;
  work.dataset = "prompts.txt";
  work.trace = "trace.csv";
  work.time_scale = 0.5;
  work.turns = 2;
  work.turn_tokens = 11;
  work.think_time = 1.75;
  work.max_seconds = 9.5;
  work.max_waiting = 6;
  return work;
}

std::vector<WorkloadField> table_without(std::string_view name) {
  std::vector<WorkloadField> table(app::workload_fields().begin(), app::workload_fields().end());
  std::erase_if(table, [&](const WorkloadField& field) { return field.option.name == name; });
  return table;
}

/// Both sections over one table.
struct Form {
  explicit Form(app::WorkloadTable table = app::workload_fields())
      : work(theme, WorkloadSection::work, 92, nullptr, table), limits(theme, WorkloadSection::limits, 92, nullptr, table) {}

  QWidget* control(const QString& name) const {
    QWidget* found = work.findChild<QWidget*>("bench." + name);
    return found != nullptr ? found : limits.findChild<QWidget*>("bench." + name);
  }
  void set(const SweepWorkload& values) {
    work.set_work(values);
    limits.set_work(values);
  }
  SweepWorkload read() const {
    SweepWorkload values;
    work.read_into(values);
    limits.read_into(values);
    return values;
  }
  /// Names of the controls that are shown for a workload.
  bool shows(const SweepWorkload& values, const char* name, bool of_target = false, const char* variable = "") {
    const app::WorkloadUse use{
        .work = values, .of_target = of_target, .varies = [variable](std::string_view one) { return one == variable; }};
    work.show_rows(use);
    limits.show_rows(use);
    return !control(name)->isHidden();
  }

  const Theme theme;
  WorkRows work, limits;
};

}  // namespace

class BenchWorkRowsTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_setting_has_a_control();
  void a_control_shows_and_gives_back_its_value();
  void one_row_more_is_a_control();
  void one_row_less_is_nothing_data();
  void one_row_less_is_nothing();
  void controls_are_shown_where_they_apply();
  void a_variable_hides_or_disables_its_control();
};

void BenchWorkRowsTest::every_setting_has_a_control() {
  const Form form;
  for (const WorkloadField& field : app::workload_fields()) {
    const QWidget* control = form.control(name_of(field));
    QVERIFY2(control != nullptr, qPrintable(name_of(field)));
    QCOMPARE(control->toolTip().toStdString(), std::string(field.option.help));
    QVERIFY2(!control->accessibleName().isEmpty(), qPrintable(name_of(field)));
  }
}

void BenchWorkRowsTest::a_control_shows_and_gives_back_its_value() {
  Form form;
  const SweepWorkload work = unusual_work(), usual;
  for (const SweepWorkload& values : {work, usual}) {
    form.set(values);
    const SweepWorkload read = form.read();
    for (const WorkloadField& field : app::workload_fields())
      QCOMPARE(get_option(read, field.option.name), get_option(values, field.option.name));
  }
  for (const WorkloadField& field : app::workload_fields())
    QVERIFY2(get_option(work, field.option.name) != get_option(usual, field.option.name), qPrintable(name_of(field)));
}

void BenchWorkRowsTest::one_row_more_is_a_control() {
  std::vector<WorkloadField> table = table_without("think_time");
  table.push_back({.option = {"ramp_up", engine::OptionGroup::scheduling, engine::OptionKind::number,
                              "Seconds until the rate is reached.", 0, 60},
                   .member = &SweepWorkload::think_time,
                   .control = {.section = WorkloadSection::limits, .label = "Ramp up", .suffix = " s", .decimals = 2}});
  Form form(table);
  QVERIFY(Form().control("ramp_up") == nullptr);
  auto* box = qobject_cast<QDoubleSpinBox*>(form.control("ramp_up"));
  QVERIFY(box != nullptr);
  QCOMPARE(box->maximum(), 60.0);
  form.set(SweepWorkload());
  box->setValue(2.5);
  QCOMPARE(form.read().think_time, 2.5);
}

void BenchWorkRowsTest::one_row_less_is_nothing_data() {
  QTest::addColumn<QString>("name");
  for (const WorkloadField& field : app::workload_fields()) QTest::newRow(field.option.name.data()) << name_of(field);
}

void BenchWorkRowsTest::one_row_less_is_nothing() {
  QFETCH(QString, name);
  const std::vector<WorkloadField> table = table_without(name.toStdString());
  Form form(table);
  QVERIFY(form.control(name) == nullptr);
  form.set(unusual_work());
  QCOMPARE(get_option(form.read(), name.toStdString()), get_option(SweepWorkload(), name.toStdString()));
}

void BenchWorkRowsTest::controls_are_shown_where_they_apply() {
  Form form;
  SweepWorkload work;
  QVERIFY(form.shows(work, "concurrency") && !form.shows(work, "rate") && !form.shows(work, "trace"));
  QVERIFY(form.shows(work, "turns") && !form.shows(work, "turn_tokens") && !form.shows(work, "max_waiting"));
  QVERIFY(!form.shows(work, "too_long") && form.shows(work, "prompt_tokens"));
  work.turns = 2;
  QVERIFY(form.shows(work, "turn_tokens") && form.shows(work, "think_time"));
  work.dataset = "prompts.txt";
  QVERIFY(!form.shows(work, "prompt_tokens") && form.shows(work, "output_tokens") && !form.shows(work, "shared_prefix"));
  QVERIFY(form.shows(work, "too_long") && !form.shows(work, "too_long", true) && !form.shows(work, "turn_tokens"));
  work.load = "replay";
  QVERIFY(form.shows(work, "trace") && form.shows(work, "time_scale") && !form.shows(work, "output_tokens"));
  QVERIFY(!form.shows(work, "turns") && !form.shows(work, "rate") && form.shows(work, "max_waiting"));
}

void BenchWorkRowsTest::a_variable_hides_or_disables_its_control() {
  Form form;
  const SweepWorkload work;
  QVERIFY(!form.shows(work, "concurrency", false, "concurrency"));
  QVERIFY(form.shows(work, "prompt_tokens", false, "prompt_tokens") && !form.control("prompt_tokens")->isEnabled());
  QVERIFY(form.shows(work, "prompt_tokens", false, "load") && form.control("prompt_tokens")->isEnabled());
  QVERIFY(form.shows(work, "rate", false, "load") && form.shows(work, "turn_tokens", false, "turns"));
}

LATHE_WINDOW_TEST(BenchWorkRowsTest)

}  // namespace bench_work_rows_test
#include "bench_work_rows_test.moc"
