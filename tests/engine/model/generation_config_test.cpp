// SPDX-License-Identifier: Apache-2.0
#include "engine/model/generation_config.h"

#include "engine/api/python_json.h"

#include <QTest>

#include "tests/support/test_class.h"

namespace generation_config_test {

using namespace lathe::engine;

class GenerationConfigTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void an_absent_file_leaves_the_defaults();
  void recommendations_are_taken();
  void eos_may_be_one_or_many();
  void suppressed_tokens_are_read_and_checked();
  void a_wrong_eos_is_left_out_with_a_warning_data();
  void a_wrong_eos_is_left_out_with_a_warning();
  void values_out_of_range_are_left_out_with_a_warning();
  void other_keys_are_nobodys_business();
};

void GenerationConfigTest::an_absent_file_leaves_the_defaults() {
  const auto config = read_generation_config(Json::object(), 100);
  QVERIFY(config.sampling == SamplingParams{});
  QVERIFY(config.eos_ids.empty() && config.warnings.empty() && !config.max_new_tokens);
}

void GenerationConfigTest::recommendations_are_taken() {
  const auto config = read_generation_config({{"temperature", 0.6},
                                              {"top_p", 0.9},
                                              {"top_k", 20},
                                              {"min_p", 0.05},
                                              {"repetition_penalty", 1.1},
                                              {"max_new_tokens", 99}},
                                             100);
  QCOMPARE(config.sampling.temperature, 0.6);
  QCOMPARE(config.sampling.top_p, 0.9);
  QCOMPARE(config.sampling.top_k, 20);
  QCOMPARE(config.sampling.min_p, 0.05);
  QCOMPARE(config.sampling.repetition_penalty, 1.1);
  QCOMPARE(config.sampling.max_tokens, 99);
  QCOMPARE(config.max_new_tokens, std::optional<std::int64_t>(99));
  QVERIFY(config.warnings.empty());
}

void GenerationConfigTest::eos_may_be_one_or_many() {
  QCOMPARE(read_generation_config({{"eos_token_id", 2}}, 100).eos_ids, (std::vector<std::int32_t>{2}));
  QCOMPARE(read_generation_config({{"eos_token_id", {2, 9}}}, 100).eos_ids, (std::vector<std::int32_t>{2, 9}));
}

void GenerationConfigTest::suppressed_tokens_are_read_and_checked() {
  QVERIFY((read_generation_config({{"suppress_tokens", {5, 9}}}, 100).suppressed_ids == std::vector<std::int32_t>{5, 9}));
  QVERIFY(read_generation_config({{"suppress_tokens", nullptr}}, 100).suppressed_ids.empty());
  const auto beyond = read_generation_config({{"suppress_tokens", {5, 100}}}, 100);
  QVERIFY(beyond.suppressed_ids == std::vector<std::int32_t>{5});
  QVERIFY(beyond.warnings.size() == 1 && beyond.warnings.front().find("suppress_tokens") != std::string::npos);
  const auto wrong = read_generation_config({{"suppress_tokens", "all"}, {"eos_token_id", 2}}, 100);
  QVERIFY(wrong.suppressed_ids.empty() && wrong.eos_ids.size() == 1 && wrong.warnings.size() == 1);
}

void GenerationConfigTest::a_wrong_eos_is_left_out_with_a_warning_data() {
  QTest::addColumn<QString>("eos");
  QTest::addColumn<QString>("named");
  QTest::newRow("the first behind") << "100"
                                    << "100";
  QTest::newRow("far behind") << "[2, 999999]"
                              << "999999";
  QTest::newRow("negative") << "-1"
                            << "-1";
  QTest::newRow("large") << "18446744073709551615"
                         << "18446744073709551615";
  QTest::newRow("text") << "[\"</s>\", 2]"
                        << "\"</s>\"";
  QTest::newRow("fraction") << "2.5"
                            << "2.5";
  QTest::newRow("NaN") << "[NaN]"
                       << "NaN";
  QTest::newRow("infinity") << "-Infinity"
                            << "-Infinity";
  QTest::newRow("null in a list") << "[null, 2]"
                                  << "null";
  QTest::newRow("list in a list") << "[[3], 2]"
                                  << "[3]";
}

void GenerationConfigTest::a_wrong_eos_is_left_out_with_a_warning() {
  QFETCH(QString, eos);
  QFETCH(QString, named);
  const Json value = parse_python_json(eos.toStdString(), "eos").value();
  const GenerationConfig config = read_generation_config({{"eos_token_id", value}, {"top_k", 7}}, 100);
  QCOMPARE(config.warnings, std::vector<std::string>{"generation_config.json: eos_token_id: " + named.toStdString() +
                                                     " is left out: the vocabulary has the ids 0 to 99"});
  QCOMPARE(config.eos_ids,
           value.is_array() && value.size() == 2 ? std::vector<std::int32_t>{2} : std::vector<std::int32_t>{});
  QCOMPARE(config.sampling.top_k, 7);
  // Too many are none of them.
  const GenerationConfig many = read_generation_config({{"eos_token_id", std::vector<int>(300, 1)}}, 100);
  QVERIFY(many.eos_ids.empty() && many.warnings.size() == 1);
}

void GenerationConfigTest::values_out_of_range_are_left_out_with_a_warning() {
  const auto config = read_generation_config({{"temperature", -1}, {"top_p", "high"}, {"top_k", 7}}, 100);
  QCOMPARE(config.warnings.size(), std::size_t{2});
  QVERIFY(config.warnings.front().starts_with("generation_config.json: temperature is left out"));
  QCOMPARE(config.sampling.temperature, SamplingParams{}.temperature);
  QCOMPARE(config.sampling.top_k, 7);
}

void GenerationConfigTest::other_keys_are_nobodys_business() {
  QVERIFY(read_generation_config({{"transformers_version", "4.41"}, {"do_sample", true}}, 100).warnings.empty());
}

LATHE_TEST(GenerationConfigTest)

}  // namespace generation_config_test
#include "generation_config_test.moc"
