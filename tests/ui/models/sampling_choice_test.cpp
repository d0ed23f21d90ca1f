// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sampling_choice.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

using namespace lathe;

class SamplingChoiceTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    folder = std::make_unique<QTemporaryDir>();
    settings = app::open_settings(folder->path().toStdString());
  }

  void starts_balanced();
  void rows_that_are_off_are_neutral();
  void greedy_is_temperature_zero();
  void a_changed_value_makes_it_custom();
  void a_preset_keeps_length_and_stops();
  void an_own_preset_comes_back();
  void a_built_in_name_cannot_be_taken();
  void values_survive_a_restart();
  void wrong_types_in_the_file_are_defaults();
  void equal_values_are_no_change();

 private:
  std::unique_ptr<QTemporaryDir> folder;
  std::unique_ptr<app::Settings> settings;
};

void SamplingChoiceTest::starts_balanced() {
  const ui::SamplingChoice choice(*settings);
  QCOMPARE(choice.preset(), QString("Balanced"));
  const engine::SamplingParams params = choice.params();
  QCOMPARE(params.temperature, 0.8);
  QCOMPARE(params.top_k, std::int64_t{40});
  QCOMPARE(params.max_tokens, std::int64_t{512});
  QVERIFY(!params.seed.has_value());
}

void SamplingChoiceTest::rows_that_are_off_are_neutral() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.off = {"top_k", "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "logprobs"};
  choice.set_values(values);
  engine::SamplingParams neutral;
  neutral.temperature = 0.8;
  neutral.max_tokens = 512;
  QVERIFY(choice.params() == neutral);
}

void SamplingChoiceTest::greedy_is_temperature_zero() {
  ui::SamplingChoice choice(*settings);
  choice.choose_preset("Greedy");
  QCOMPARE(choice.params().temperature, 0.0);
  QCOMPARE(choice.preset(), QString("Greedy"));
}

void SamplingChoiceTest::a_changed_value_makes_it_custom() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.top_p = 0.5;
  choice.set_values(values);
  QCOMPARE(choice.preset(), QString("Custom"));
}

void SamplingChoiceTest::a_preset_keeps_length_and_stops() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.max_tokens = 9;
  values.stop = {"END"};
  choice.set_values(values);
  choice.choose_preset("Creative");
  QCOMPARE(choice.params().max_tokens, std::int64_t{9});
  QCOMPARE(choice.params().stop.size(), std::size_t{1});
  QCOMPARE(choice.preset(), QString("Creative"));
}

void SamplingChoiceTest::an_own_preset_comes_back() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.temperature = 0.33;
  choice.set_values(values);
  QVERIFY(choice.save_preset("Mine").isEmpty());
  choice.choose_preset("Balanced");
  choice.choose_preset("Mine");
  QCOMPARE(choice.values().temperature, 0.33);
  QCOMPARE(choice.preset(), QString("Mine"));
  QVERIFY(choice.is_own("Mine"));
  choice.remove_preset("Mine");
  QVERIFY(!choice.presets().contains("Mine"));
}

void SamplingChoiceTest::a_built_in_name_cannot_be_taken() {
  ui::SamplingChoice choice(*settings);
  QVERIFY(!choice.save_preset("greedy").isEmpty());
  QVERIFY(!choice.save_preset("  ").isEmpty());
}

void SamplingChoiceTest::values_survive_a_restart() {
  {
    ui::SamplingChoice choice(*settings);
    ui::SamplingValues values = choice.values();
    values.temperature = 1.5;
    values.fixed_seed = true;
    values.seed = 99;
    values.stop = {"\n\n"};
    values.off.insert("min_p");
    choice.set_values(values);
    QVERIFY(settings->flush().has_value());
  }
  settings.reset();
  settings = app::open_settings(folder->path().toStdString());
  const ui::SamplingChoice again(*settings);
  QCOMPARE(again.values().temperature, 1.5);
  QCOMPARE(again.params().seed.value_or(0), std::uint64_t{99});
  QCOMPARE(again.values().stop.front(), std::string("\n\n"));
  QVERIFY(again.values().off.contains("min_p"));
}

void SamplingChoiceTest::wrong_types_in_the_file_are_defaults() {
  settings->set("sampling/current",
                engine::Json{{"temperature", "hot"}, {"top_k", 1.5}, {"stop", 3}, {"off", "x"}, {"fixed_seed", 1}});
  const ui::SamplingChoice choice(*settings);
  QVERIFY(choice.values() == ui::SamplingValues{});
}

void SamplingChoiceTest::equal_values_are_no_change() {
  ui::SamplingChoice choice(*settings);
  QSignalSpy changed(&choice, &ui::SamplingChoice::changed);
  choice.set_values(choice.values());
  QCOMPARE(changed.count(), 0);
}

QTEST_MAIN(SamplingChoiceTest)
#include "sampling_choice_test.moc"
