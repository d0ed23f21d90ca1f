// SPDX-License-Identifier: GPL-3.0-or-later
// The Sampling dock in the real window: whatever is set there, the next request has it.
#include <QClipboard>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QGuiApplication>
#include <QLineEdit>
#include <QSlider>
#include <QSpinBox>
#include <functional>

#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/ui/window_fixture.h"
#include "ui/panels/sampling/sampling_row.h"

namespace sampling_test {

using namespace lathe;
using namespace lathe::tests;
using engine::SamplingParams;

namespace {

struct Row {
  const char* name;
  double value;
  bool can_be_off;
  std::function<double(const SamplingParams&)> sent;
  double sent_when_off;
};

/// Every row of the dock with a value that is not its default, and what the engine gets.
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
      {"temperature", 1.35, false, [](const SamplingParams& p) { return p.temperature; }, 0},
      {"top_k", 17, true, [](const SamplingParams& p) { return double(p.top_k); }, 0},
      {"top_p", 0.61, true, [](const SamplingParams& p) { return p.top_p; }, 1},
      {"min_p", 0.12, true, [](const SamplingParams& p) { return p.min_p; }, 0},
      {"repetition_penalty", 1.21, true, [](const SamplingParams& p) { return p.repetition_penalty; }, 1},
      {"presence_penalty", -0.55, true, [](const SamplingParams& p) { return p.presence_penalty; }, 0},
      {"frequency_penalty", 0.45, true, [](const SamplingParams& p) { return p.frequency_penalty; }, 0},
      {"max_tokens", 123, false, [](const SamplingParams& p) { return double(p.max_tokens); }, 0},
      {"logprobs", 4, true, [](const SamplingParams& p) { return double(p.logprobs.value_or(-1)); }, -1},
  };
  return table;
}

}  // namespace

class SamplingTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    fixture = std::make_unique<WindowFixture>();
    QVERIFY(fixture->load_model());
    fixture->engine()->answer_with("Yes.");
  }
  void cleanup() { fixture.reset(); }

  void the_table_below_has_every_row();
  void a_changed_row_is_in_the_next_request_data();
  void a_changed_row_is_in_the_next_request();
  void a_slider_changes_the_same_value();
  void a_fixed_seed_is_sent_and_a_random_one_is_drawn();
  void a_seed_beyond_its_field_is_exact();
  void a_checkpoint_brings_its_own_preset();
  void stop_strings_end_the_reply();
  void a_preset_changes_the_next_request();
  void greedy_ignores_the_rows_below_it();
  void a_change_while_a_reply_runs_is_for_the_next_one();

 private:
  SamplingParams sent() {
    fixture->say("Well?");
    if (!fixture->wait_reply()) qFatal("no reply");
    return fixture->engine()->submitted().back().sampling;
  }
  QDoubleSpinBox* spin(const char* row) {
    return fixture->find<QDoubleSpinBox>(qPrintable(QString("sampling.%1.spin").arg(row)));
  }
  void press_switch(const char* row) { fixture->click(qPrintable(QString("sampling.%1.on").arg(row))); }
  bool is_on(const char* row) { return !fixture->window->context().sampling.values().off.contains(row); }

  std::unique_ptr<WindowFixture> fixture;
};

void SamplingTest::the_table_below_has_every_row() {
  QCOMPARE(fixture->window->findChildren<ui::SamplingRow*>().size(), qsizetype(rows().size()));
  for (const Row& row : rows()) QVERIFY2(spin(row.name) != nullptr, row.name);
}

void SamplingTest::a_changed_row_is_in_the_next_request_data() {
  QTest::addColumn<int>("index");
  for (std::size_t i = 0; i < rows().size(); ++i) QTest::newRow(rows()[i].name) << int(i);
}

void SamplingTest::a_changed_row_is_in_the_next_request() {
  QFETCH(int, index);
  const Row& row = rows()[std::size_t(index)];
  if (row.can_be_off && !is_on(row.name)) press_switch(row.name);
  spin(row.name)->setValue(row.value);
  QCOMPARE(row.sent(sent()), row.value);
  if (!row.can_be_off) return;
  press_switch(row.name);
  QVERIFY(!is_on(row.name));
  QVERIFY(!spin(row.name)->isVisible());
  QCOMPARE(row.sent(sent()), row.sent_when_off);
  press_switch(row.name);
  QCOMPARE(row.sent(sent()), row.value);  // it was kept while it was off
}

void SamplingTest::a_slider_changes_the_same_value() {
  auto* slider = fixture->find<QSlider>("sampling.temperature.slider");
  slider->setValue(slider->maximum());
  QCOMPARE(spin("temperature")->value(), 2.0);
  QCOMPARE(sent().temperature, 2.0);
  slider->setValue(slider->minimum());
  QCOMPARE(sent().temperature, 0.0);
}

void SamplingTest::a_fixed_seed_is_sent_and_a_random_one_is_drawn() {
  QVERIFY(!fixture->find<QAbstractButton>("sampling.seed.copy")->isEnabled());
  const std::optional<std::uint64_t> first = sent().seed, second = sent().seed;
  QVERIFY(first.has_value() && second.has_value());
  QVERIFY(*first != *second || sent().seed != first);
  fixture->click("sampling.seed.copy");
  QCOMPARE(QGuiApplication::clipboard()->text(),
           QString::number(fixture->engine()->submitted().back().sampling.seed.value_or(0)));
  auto* kind = fixture->find<QComboBox>("sampling.seed.kind");
  kind->setCurrentIndex(1);
  Q_EMIT kind->activated(1);
  fixture->find<QSpinBox>("sampling.seed")->setValue(4711);
  QCOMPARE(sent().seed.value_or(0), std::uint64_t{4711});
  kind->setCurrentIndex(0);
  Q_EMIT kind->activated(0);
  QVERIFY(sent().seed.value_or(4711) != 4711 || sent().seed != std::uint64_t{4711});
}

void SamplingTest::a_seed_beyond_its_field_is_exact() {
  constexpr std::uint64_t kSeed = (std::uint64_t{1} << 53) + 1;  // no double has this value
  ui::SamplingChoice& choice = fixture->window->context().sampling;
  ui::SamplingValues values = choice.values();
  values.off.remove("seed");
  values.params.seed = kSeed;
  choice.set_values(values);
  QCOMPARE(fixture->find<QSpinBox>("sampling.seed")->value(), 2'147'483'647);
  fixture->click("sampling.seed.copy");
  QCOMPARE(QGuiApplication::clipboard()->text(), QString::number(kSeed));
  QCOMPARE(sent().seed.value_or(0), kSeed);
}

void SamplingTest::a_checkpoint_brings_its_own_preset() {
  QTemporaryDir profile;
  WindowFixture real(profile.path(), WindowFixture::Engines::real);
  QCOMPARE(real.find<QComboBox>("sampling.preset")->currentText(), QString("Balanced"));
  real.begin_load(tiny_model_path());
  QVERIFY(real.wait_ready());
  QTRY_COMPARE(real.find<QComboBox>("sampling.preset")->currentText(), QString("Model"));
  QCOMPARE(real.find<QDoubleSpinBox>("sampling.temperature.spin")->value(), 0.7);
  QCOMPARE(real.window->context().sampling.params().min_p, 0.0);
}

void SamplingTest::stop_strings_end_the_reply() {
  fixture->engine()->answer_with("one two three");
  fixture->click("sampling.stop.add");
  auto* field = fixture->find<QLineEdit>("sampling.stop.field");
  QTest::keyClicks(field, " two");
  QTest::keyClick(field, Qt::Key_Return);
  QCOMPARE(sent().stop, std::vector<std::string>{" two"});
  QCOMPARE(fixture->text_of(1), QString("one"));
  fixture->click("sampling.stop.0");
  QVERIFY(sent().stop.empty());
  QCOMPARE(fixture->text_of(3), QString("one two three"));
}

void SamplingTest::a_preset_changes_the_next_request() {
  auto* presets = fixture->find<QComboBox>("sampling.preset");
  QCOMPARE(presets->currentText(), QString("Balanced"));
  Q_EMIT presets->textActivated("Creative");
  QCOMPARE(sent().temperature, 1.1);
  QCOMPARE(sent().top_k, std::int64_t{100});
  spin("temperature")->setValue(1.2);
  QCOMPARE(presets->currentText(), QString("Custom"));
  Q_EMIT presets->textActivated("Greedy");
  QCOMPARE(sent().temperature, 0.0);
}

void SamplingTest::greedy_ignores_the_rows_below_it() {
  spin("temperature")->setValue(0);
  for (const char* row : {"top_k", "top_p", "min_p"}) {
    QVERIFY2(!spin(row)->isVisible(), row);
    QCOMPARE(fixture->find<QLabel>(qPrintable(QString("sampling.%1.off").arg(row)))->text(), QString("greedy: not used"));
  }
  QVERIFY(spin("max_tokens")->isVisible());
  spin("temperature")->setValue(0.5);
  QVERIFY(spin("top_k")->isVisible());
}

void SamplingTest::a_change_while_a_reply_runs_is_for_the_next_one() {
  fixture->engine()->pause();
  fixture->say("Well?");
  QVERIFY(fixture->engine()->wait_for_active(1));
  spin("temperature")->setValue(0.25);
  QCOMPARE(fixture->engine()->submitted().back().sampling.temperature, 0.8);
  fixture->engine()->resume();
  QVERIFY(fixture->wait_reply());
  QCOMPARE(sent().temperature, 0.25);
}

LATHE_WINDOW_TEST(SamplingTest)

}  // namespace sampling_test
#include "sampling_test.moc"
