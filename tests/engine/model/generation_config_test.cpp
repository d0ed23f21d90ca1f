// SPDX-License-Identifier: Apache-2.0
#include "engine/model/generation_config.h"

#include <QTest>

using namespace lathe::engine;

class GenerationConfigTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_absent_file_leaves_the_defaults();
  void recommendations_are_taken();
  void eos_may_be_one_or_many();
  void a_wrong_eos_is_refused();
  void values_out_of_range_are_left_out_with_a_warning();
  void other_keys_are_nobodys_business();
};

void GenerationConfigTest::an_absent_file_leaves_the_defaults() {
  const auto config = read_generation_config(Json::object(), 100);
  QVERIFY(config.has_value());
  QVERIFY(config->sampling == SamplingParams{});
  QVERIFY(config->eos_ids.empty() && config->warnings.empty() && !config->max_new_tokens);
}

void GenerationConfigTest::recommendations_are_taken() {
  const auto config = read_generation_config({{"temperature", 0.6},
                                              {"top_p", 0.9},
                                              {"top_k", 20},
                                              {"min_p", 0.05},
                                              {"repetition_penalty", 1.1},
                                              {"max_new_tokens", 99}},
                                             100);
  QCOMPARE(config->sampling.temperature, 0.6);
  QCOMPARE(config->sampling.top_p, 0.9);
  QCOMPARE(config->sampling.top_k, 20);
  QCOMPARE(config->sampling.min_p, 0.05);
  QCOMPARE(config->sampling.repetition_penalty, 1.1);
  QCOMPARE(config->sampling.max_tokens, 99);
  QCOMPARE(config->max_new_tokens, std::optional<std::int64_t>(99));
  QVERIFY(config->warnings.empty());
}

void GenerationConfigTest::eos_may_be_one_or_many() {
  QCOMPARE(read_generation_config({{"eos_token_id", 2}}, 100)->eos_ids, (std::vector<std::int32_t>{2}));
  QCOMPARE(read_generation_config({{"eos_token_id", {2, 9}}}, 100)->eos_ids, (std::vector<std::int32_t>{2, 9}));
}

void GenerationConfigTest::a_wrong_eos_is_refused() {
  for (const Json& eos : {Json(100), Json(-1), Json("</s>"), Json(std::vector<int>(300, 1))}) {
    const auto config = read_generation_config({{"eos_token_id", eos}}, 100);
    QVERIFY(!config.has_value());
    QCOMPARE(config.error().where, std::string("generation_config.json: eos_token_id"));
  }
}

void GenerationConfigTest::values_out_of_range_are_left_out_with_a_warning() {
  const auto config = read_generation_config({{"temperature", -1}, {"top_p", "high"}, {"top_k", 7}}, 100);
  QVERIFY(config.has_value());
  QCOMPARE(config->warnings.size(), std::size_t{2});
  QVERIFY(config->warnings.front().starts_with("generation_config.json: temperature is left out"));
  QCOMPARE(config->sampling.temperature, SamplingParams{}.temperature);
  QCOMPARE(config->sampling.top_k, 7);
}

void GenerationConfigTest::other_keys_are_nobodys_business() {
  QVERIFY(read_generation_config({{"transformers_version", "4.41"}, {"do_sample", true}}, 100)->warnings.empty());
}

QTEST_GUILESS_MAIN(GenerationConfigTest)
#include "generation_config_test.moc"
