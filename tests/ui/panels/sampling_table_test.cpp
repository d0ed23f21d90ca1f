// SPDX-License-Identifier: GPL-3.0-or-later
// The rows of the Sampling dock are those of the table: one row more is a control whose value requests have; one row less is
// no control, and no value, whatever the settings file has. The same rows may be variables of a sweep in the Bench plan.
#include <QDoubleSpinBox>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/sampling_table.h"
#include "tests/support/test_class.h"
#include "ui/panels/bench/plan/variable_cards.h"
#include "ui/panels/sampling/sampling_row.h"
#include "ui/panels/sampling/sampling_sections.h"

namespace sampling_table_test {

using namespace lathe;
using namespace lathe::ui;
using engine::SamplingField;
using engine::SamplingSection;
using tests::table_with_one_more;
using tests::table_without;

class SamplingTableTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    folder = std::make_unique<QTemporaryDir>();
    settings = app::open_settings(folder->path().toStdString());
  }

  void one_row_more_is_a_control();
  void one_row_less_is_nothing_data();
  void one_row_less_is_nothing();
  void variables_of_a_sweep_are_those_of_the_table();

 private:
  /// The control of a parameter in a dock with the rows of `table`.
  struct Dock {
    Dock(app::Settings& settings, const QString& folder, engine::SamplingTable table)
        : state(folder.toStdString()),
          choice(settings, nullptr, table),
          sections(theme, choice, state, background, nullptr) {}
    QWidget* control(const QString& name) { return sections.findChild<QWidget*>(QStringLiteral("sampling.") + name); }

    const Theme theme;
    UiState state;
    SamplingChoice choice;
    Background background;
    SamplingSections sections;
  };

  std::unique_ptr<QTemporaryDir> folder;
  std::unique_ptr<app::Settings> settings;
};

void SamplingTableTest::one_row_more_is_a_control() {
  const auto table = table_with_one_more();
  Dock real(*settings, folder->path(), engine::sampling_fields()), dock(*settings, folder->path(), table);
  QVERIFY(real.control("min_keep") == nullptr);
  QVERIFY(dock.control("min_keep") != nullptr);
  QCOMPARE(dock.sections.findChildren<SamplingRow*>().size(), real.sections.findChildren<SamplingRow*>().size() + 1);
  QCOMPARE(dock.control("min_keep")->toolTip(), QString("min_keep: ") + QString::fromUtf8(table.back().option.help.data()));
  QVERIFY(dock.choice.params() == real.choice.params());  // it starts off
  auto* toggle = dock.sections.findChild<QAbstractButton*>("sampling.min_keep.on");
  toggle->setChecked(true);
  dock.sections.findChild<QDoubleSpinBox*>("sampling.min_keep.spin")->setValue(7);
  QCOMPARE(dock.choice.params().min_tokens, std::int64_t{7});
  QCOMPARE(settings->get("sampling/current")["min_keep"].get<int>(), 7);
}

void SamplingTableTest::one_row_less_is_nothing_data() {
  QTest::addColumn<QByteArray>("name");
  for (const SamplingField& field : engine::sampling_fields()) {
    if (field.control.section != SamplingSection::none)
      QTest::newRow(field.option.name.data()) << QByteArray(field.option.name.data());
  }
}

void SamplingTableTest::one_row_less_is_nothing() {
  QFETCH(QByteArray, name);
  {
    Dock real(*settings, folder->path(), engine::sampling_fields());
    QVERIFY(real.control(name) != nullptr);
    SamplingValues values = real.choice.values();
    values.off.clear();
    values.params.temperature = 0.4;
    values.params.stop = {"END"};
    values.params.structured_outputs = R"({"json_object": true})";
    real.choice.set_values(values);
    QVERIFY(settings->get("sampling/current").contains(name.toStdString()));
  }
  const auto table = table_without(name.toStdString());
  Dock dock(*settings, folder->path(), table);
  QVERIFY(dock.control(name) == nullptr);
  const SamplingField& field = *engine::find_sampling_field(engine::sampling_fields(), name.toStdString());
  QVERIFY(engine::is_neutral(field, dock.choice.params()));
  for (const SamplingField& other : table) {
    if (other.control.section != SamplingSection::none)
      QVERIFY2(!engine::is_neutral(other, dock.choice.params()), other.option.name.data());
  }
  SamplingValues values = dock.choice.values();
  values.params.logit_bias = {{1, 2.0F}};  // any change is saved
  dock.choice.set_values(values);
  QVERIFY(!settings->get("sampling/current").contains(name.toStdString()));
}

void SamplingTableTest::variables_of_a_sweep_are_those_of_the_table() {
  const Theme theme;
  const auto entry = [](VariableCards& cards, const QString& name) {
    Q_EMIT cards.findChild<QMenu*>("bench.variables.menu")->aboutToShow();
    return cards.findChild<QAction*>("bench.variables.add." + name);
  };
  QWidget real_parent, more_parent, less_parent;
  VariableCards real(theme, &real_parent);
  QVERIFY(entry(real, "min_keep") == nullptr && entry(real, "min_p") != nullptr);
  const auto less_table = table_without("min_p");
  VariableCards less(theme, &less_parent, less_table);
  QVERIFY(entry(less, "min_p") == nullptr && entry(less, "top_k") != nullptr);
  const auto more_table = table_with_one_more();
  VariableCards more(theme, &more_parent, more_table);
  QVERIFY(entry(more, "min_keep") != nullptr);
  entry(more, "min_keep")->trigger();
  more.findChild<QLineEdit*>("bench.variable.min_keep.values")->setText("1:4:1");
  const std::vector<app::SweepVariable> variables = more.variables();
  QVERIFY(variables.size() == 1 && more.problem().isEmpty());
  QCOMPARE(variables.front().values, (std::vector<std::string>{"1", "2", "3", "4"}));
  QVERIFY(entry(more, "min_keep") == nullptr);  // its card is there
}

LATHE_WINDOW_TEST(SamplingTableTest)

}  // namespace sampling_table_test
#include "sampling_table_test.moc"
