// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/sampling_choice.h"

#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <set>

#include "tests/support/test_class.h"

namespace sampling_choice_test {

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
  void a_file_of_an_older_version_keeps_its_seed();
  void a_row_that_the_file_does_not_know_has_its_default();
  void equal_values_are_no_change();
  void what_the_checkpoint_recommends_is_the_first_choice();
  void what_the_user_chose_stays();
  void without_a_recommendation_it_is_balanced_again();
  void each_request_has_a_seed_of_its_own();

 private:
  static engine::SamplingParams recommendation() {
    engine::SamplingParams params;
    params.temperature = 0.2;
    params.top_p = 0.9;
    params.max_tokens = 160;
    return params;
  }
  void restart() {
    QVERIFY(settings->flush().has_value());
    settings.reset();
    settings = app::open_settings(folder->path().toStdString());
  }
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
  values.off = {"top_k",    "top_p", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty",
                "logprobs", "seed"};
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
  values.params.top_p = 0.5;
  choice.set_values(values);
  QCOMPARE(choice.preset(), QString("Custom"));
}

void SamplingChoiceTest::a_preset_keeps_length_and_stops() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.params.max_tokens = 9;
  values.params.stop = {"END"};
  choice.set_values(values);
  choice.choose_preset("Creative");
  QCOMPARE(choice.params().max_tokens, std::int64_t{9});
  QCOMPARE(choice.params().stop.size(), std::size_t{1});
  QCOMPARE(choice.preset(), QString("Creative"));
}

void SamplingChoiceTest::an_own_preset_comes_back() {
  ui::SamplingChoice choice(*settings);
  ui::SamplingValues values = choice.values();
  values.params.temperature = 0.33;
  choice.set_values(values);
  QVERIFY(choice.save_preset("Mine").isEmpty());
  choice.choose_preset("Balanced");
  choice.choose_preset("Mine");
  QCOMPARE(choice.values().params.temperature, 0.33);
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
    values.params.temperature = 1.5;
    values.off.remove("seed");
    values.params.seed = 99;
    values.params.stop = {"\n\n"};
    values.off.insert("min_p");
    choice.set_values(values);
    QVERIFY(settings->flush().has_value());
  }
  settings.reset();
  settings = app::open_settings(folder->path().toStdString());
  const ui::SamplingChoice again(*settings);
  QCOMPARE(again.values().params.temperature, 1.5);
  QCOMPARE(again.params().seed.value_or(0), std::uint64_t{99});
  QCOMPARE(again.values().params.stop.front(), std::string("\n\n"));
  QVERIFY(again.values().off.contains("min_p"));
}

void SamplingChoiceTest::wrong_types_in_the_file_are_defaults() {
  settings->set("sampling/current",
                engine::Json{{"temperature", "hot"}, {"top_k", 1.5}, {"stop", 3}, {"off", "x"}, {"fixed_seed", 1}});
  const ui::SamplingChoice choice(*settings);
  QVERIFY(choice.values() == ui::SamplingValues{});
}

/// Versions before the seed was a row had "fixed_seed" instead of "seed" in the list of what is off.
void SamplingChoiceTest::a_file_of_an_older_version_keeps_its_seed() {
  for (const bool fixed : {true, false}) {
    settings->set("sampling/current",
                  engine::Json{{"top_k", 30}, {"seed", 12}, {"fixed_seed", fixed}, {"off", engine::Json::array({"top_k"})}});
    const ui::SamplingChoice choice(*settings);
    QCOMPARE(choice.params().seed, fixed ? std::optional<std::uint64_t>(12) : std::nullopt);
    QCOMPARE(choice.params().top_k, std::int64_t{0});
  }
}

void SamplingChoiceTest::a_row_that_the_file_does_not_know_has_its_default() {
  settings->set("sampling/current", engine::Json{{"temperature", 0.5}, {"off", engine::Json::array()}});
  const ui::SamplingChoice choice(*settings);
  QVERIFY(choice.values().off == ui::SamplingValues().off);
  QCOMPARE(choice.params().temperature, 0.5);
  QCOMPARE(choice.params().repetition_penalty, 1.0);
}

void SamplingChoiceTest::equal_values_are_no_change() {
  ui::SamplingChoice choice(*settings);
  QSignalSpy changed(&choice, &ui::SamplingChoice::changed);
  choice.set_values(choice.values());
  QCOMPARE(changed.count(), 0);
}

void SamplingChoiceTest::what_the_checkpoint_recommends_is_the_first_choice() {
  ui::SamplingChoice choice(*settings);
  choice.set_recommended(recommendation());
  QCOMPARE(choice.preset(), QString("Model"));
  QCOMPARE(choice.presets().front(), QString("Model"));
  engine::SamplingParams expected = recommendation();
  expected.max_tokens = 512;  // presets say nothing about the length
  QVERIFY(choice.params() == expected);
  ui::SamplingValues values = choice.values();
  values.params.max_tokens = 9;
  choice.set_values(values);
  QCOMPARE(choice.preset(), QString("Model"));
  // Another model brings its own.
  engine::SamplingParams other;
  other.top_k = 20;
  choice.set_recommended(other);
  QCOMPARE(choice.params().top_k, std::int64_t{20});
  QCOMPARE(choice.params().top_p, 1.0);
  QCOMPARE(choice.params().max_tokens, std::int64_t{9});
  QVERIFY(!choice.save_preset("model").isEmpty());
}

void SamplingChoiceTest::what_the_user_chose_stays() {
  {
    ui::SamplingChoice choice(*settings);
    choice.choose_preset("Balanced");
    choice.set_recommended(recommendation());
    QCOMPARE(choice.preset(), QString("Balanced"));
    QCOMPARE(choice.params().temperature, 0.8);
  }
  restart();
  ui::SamplingChoice choice(*settings);
  choice.set_recommended(recommendation());
  QCOMPARE(choice.preset(), QString("Balanced"));
  choice.choose_preset("Model");
  QCOMPARE(choice.params().temperature, 0.2);
  ui::SamplingValues values = choice.values();
  values.params.temperature = 0.3;
  choice.set_values(values);
  choice.set_recommended(recommendation());
  QCOMPARE(choice.preset(), QString("Custom"));
  QCOMPARE(choice.params().temperature, 0.3);
}

void SamplingChoiceTest::without_a_recommendation_it_is_balanced_again() {
  {
    ui::SamplingChoice choice(*settings);
    choice.set_recommended(recommendation());
    choice.choose_preset("Model");
    choice.set_recommended({});
    QCOMPARE(choice.preset(), QString("Balanced"));
    QVERIFY(!choice.presets().contains("Model"));
    choice.set_recommended(recommendation());
    QCOMPARE(choice.preset(), QString("Model"));
  }
  restart();
  ui::SamplingChoice choice(*settings);
  choice.set_recommended({});
  QCOMPARE(choice.preset(), QString("Balanced"));
  QCOMPARE(choice.params().temperature, 0.8);
}

void SamplingChoiceTest::each_request_has_a_seed_of_its_own() {
  ui::SamplingChoice choice(*settings);
  QVERIFY(!choice.last_seed().has_value());
  std::set<std::uint64_t> seeds;
  for (int i = 0; i < 4; ++i) {
    const std::optional<std::uint64_t> seed = choice.draw_params().seed;
    QVERIFY(seed.has_value() && *seed < (std::uint64_t{1} << 31));
    QCOMPARE(choice.last_seed(), seed);
    seeds.insert(*seed);
  }
  QVERIFY(seeds.size() > 1);
  ui::SamplingValues values = choice.values();
  values.off.remove("seed");
  values.params.seed = 7;
  choice.set_values(values);
  QCOMPARE(choice.draw_params().seed.value_or(0), std::uint64_t{7});
  QCOMPARE(choice.last_seed().value_or(0), std::uint64_t{7});
}

LATHE_WINDOW_TEST(SamplingChoiceTest)

}  // namespace sampling_choice_test
#include "sampling_choice_test.moc"
