// SPDX-License-Identifier: Apache-2.0
#include <QTest>
#include <limits>
#include <set>

#include "engine/api/sampling_params.h"
#include "tests/support/test_class.h"

namespace sampling_options_test {

using namespace lathe::engine;

namespace {

constexpr std::int64_t kVocabulary = 1000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The field that validate refuses; empty when it accepts.
std::string refused_field(const SamplingParams& params) {
  const auto valid = validate(params, kVocabulary);
  if (valid) return {};
  return valid.error().code == ErrorCode::invalid_argument ? valid.error().where : "wrong code";
}
std::string refused_text(std::string_view name, std::string_view value) {
  SamplingParams params;
  const auto set = set_option(params, name, value);
  if (set) {
    const auto valid = validate(params, kVocabulary);
    return valid ? std::string() : valid.error().message;
  }
  return set.error().message;
}

}  // namespace

class SamplingOptionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void the_defaults_are_valid() { QVERIFY(refused_field(SamplingParams()).empty()); }
  void every_field_is_in_the_table() { QCOMPARE(sampling_option_table().size(), std::size_t{19}); }

  void every_value_is_taken_back_unchanged() {
    SamplingParams params;
    params.temperature = 0.7;
    params.seed = std::numeric_limits<std::uint64_t>::max();
    params.stop = {"\n\n", "[\"x\"", "a,b"};
    params.stop_token_ids = {5, 7};
    params.logprobs = 3;
    params.logit_bias = {{5, -1.5f}, {9, 100.0f}};
    SamplingParams copy;
    for (const OptionDescriptor& option : sampling_option_table()) {
      QVERIFY2(set_option(copy, option.name, get_option(params, option.name)).has_value(), option.name.data());
    }
    QVERIFY(copy == params);
  }

  void S5_numbers_out_of_range_are_refused_data() {
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<double>("value");
    for (const double value : {-1.0, 1e308, 1e-320, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
      for (const char* field : {"temperature", "top_p", "min_p", "repetition_penalty"}) {
        QTest::addRow("%s %g", field, value) << QByteArray(field) << value;
      }
    }
    for (const double value : {-2.1, 2.1, 1e308, 1e-320, kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
      for (const char* field : {"presence_penalty", "frequency_penalty"})
        QTest::addRow("%s %g", field, value) << QByteArray(field) << value;
    }
    QTest::newRow("top_p 0") << QByteArray("top_p") << 0.0;
    QTest::newRow("top_p 1.1") << QByteArray("top_p") << 1.1;
    QTest::newRow("min_p 1.1") << QByteArray("min_p") << 1.1;
    QTest::newRow("repetition_penalty 0") << QByteArray("repetition_penalty") << 0.0;
  }
  void S5_numbers_out_of_range_are_refused() {
    QFETCH(QByteArray, field);
    QFETCH(double, value);
    SamplingParams params;
    if (field == "temperature") params.temperature = value;
    if (field == "top_p") params.top_p = value;
    if (field == "min_p") params.min_p = value;
    if (field == "repetition_penalty") params.repetition_penalty = value;
    if (field == "presence_penalty") params.presence_penalty = value;
    if (field == "frequency_penalty") params.frequency_penalty = value;
    QCOMPARE(refused_field(params), field.toStdString());
  }
  void S5_integers_out_of_range_are_refused_data() {
    QTest::addColumn<QByteArray>("field");
    QTest::addColumn<QByteArray>("value");
    const char* rows[][2] = {{"top_k", "-2"},
                             {"top_k", "2147483648"},
                             {"max_tokens", "-1"},
                             {"max_tokens", "1000000000000000"},
                             {"min_tokens", "-1"},
                             {"logprobs", "-1"},
                             {"logprobs", "21"},
                             {"prompt_logprobs", "1000000"},
                             {"seed", "18446744073709551616"},
                             {"seed", "-9223372036854775809"},
                             {"seed", "--5"},
                             {"seed", "1.5"},
                             {"max_tokens", "\"5\""}};
    for (const auto& row : rows) QTest::addRow("%s %s", row[0], row[1]) << QByteArray(row[0]) << QByteArray(row[1]);
  }
  void S5_integers_out_of_range_are_refused() {
    QFETCH(QByteArray, field);
    QFETCH(QByteArray, value);
    const std::string message = refused_text(field.toStdString(), value.toStdString());
    QVERIFY(message.find(field.toStdString()) != std::string::npos);
  }
  void an_excluded_bound_is_named_and_refused() {
    QCOMPARE(refused_text("top_p", "0"), std::string("top_p must be greater than 0 and at most 1, got 0"));
    QCOMPARE(refused_text("top_p", "1.5"), std::string("top_p must be greater than 0 and at most 1, got 1.5"));
    QCOMPARE(refused_text("min_p", "1.5"), std::string("min_p must be between 0 and 1, got 1.5"));
    QCOMPARE(refused_text("top_p", "1e-39"),
             std::string("top_p must be of magnitude 1.2e-38 at least, the smallest normal float32, got 1e-39"));
    for (const char* value : {"1e-7", "0.5", "1"}) QVERIFY2(refused_text("top_p", value).empty(), value);
  }
  void S5_documented_sentinels_are_accepted() {
    QVERIFY(refused_text("top_k", "-1").empty());
    QVERIFY(refused_text("top_k", "0").empty());
    QVERIFY(refused_text("max_tokens", "0").empty());
    QVERIFY(refused_text("seed", "-1").empty());
    QVERIFY(refused_text("temperature", "0").empty());
    QVERIFY(refused_text("seed", "18446744073709551615").empty());
  }
  void S5_negative_seeds_are_seeds_as_with_vllm() {
    for (const auto& [text, seed] : {std::pair{"-5", std::int64_t{-5}}, {"-9223372036854775808", INT64_MIN}}) {
      SamplingParams params;
      QVERIFY(set_option(params, "seed", text).has_value());
      QCOMPARE(*params.seed, static_cast<std::uint64_t>(seed));
    }
  }
  void messages_carry_value_and_range() {
    const std::string message = refused_text("temperature", "1e308");
    QVERIFY(message.find("between 0 and 100") != std::string::npos);
    QVERIFY(message.find("1e+308") != std::string::npos);
  }
  void min_tokens_cannot_pass_max_tokens() {
    SamplingParams params;
    params.min_tokens = 17;
    QCOMPARE(refused_field(params), std::string("min_tokens"));
    params.max_tokens = 0;  // until the context is full
    QVERIFY(refused_field(params).empty());
  }

  void S7_too_many_stop_strings_are_refused() {
    SamplingParams params;
    params.stop.assign(100'000, "x");
    QCOMPARE(refused_field(params), std::string("stop"));
    params.stop.assign(16, "x");
    QVERIFY(refused_field(params).empty());
    params.stop.assign(17, "x");
    QCOMPARE(refused_field(params), std::string("stop"));
  }
  void S7_empty_and_huge_stop_strings_are_refused() {
    SamplingParams params;
    for (const std::string& stop : {std::string(), std::string(257, 'x'), std::string(1 << 20, 'x'), std::string("\xFF")}) {
      params.stop = {stop};
      QCOMPARE(refused_field(params), std::string("stop"));
    }
    params.stop = {std::string(256, 'x')};
    QVERIFY(refused_field(params).empty());
  }
  void a_stop_string_may_look_like_a_list() {
    SamplingParams params;
    QVERIFY(set_option(params, "stop", "[INST]").has_value());
    QCOMPARE(params.stop, std::vector<std::string>{"[INST]"});
    QVERIFY(set_option(params, "stop", R"(["a", "b"])").has_value());
    QCOMPARE(params.stop.size(), std::size_t{2});
    QVERIFY(set_option(params, "stop", "").has_value());
    QVERIFY(params.stop.empty());
  }

  void S8_ids_outside_the_vocabulary_are_refused() {
    SamplingParams params;
    for (const std::int32_t id :
         {-1, 1000, std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()}) {
      params.logit_bias = {{id, 1.0f}};
      QCOMPARE(refused_field(params), std::string("logit_bias"));
      params.logit_bias.clear();
      params.stop_token_ids = {id};
      QCOMPARE(refused_field(params), std::string("stop_token_ids"));
      params.stop_token_ids.clear();
    }
    params.logit_bias = {{0, 1.0f}, {999, 1.0f}};
    QVERIFY(refused_field(params).empty());
  }
  void S8_biases_are_bounded() {
    SamplingParams params;
    for (const float bias :
         {-100.5f, 101.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      params.logit_bias = {{1, bias}};
      QCOMPARE(refused_field(params), std::string("logit_bias"));
    }
  }
  void S8_too_many_or_repeated_biases_are_refused() {
    SamplingParams params;
    params.logit_bias.assign(1'000'000, {1, 1.0f});
    QCOMPARE(refused_field(params), std::string("logit_bias"));
    params.logit_bias = {{1, 1.0f}, {2, 1.0f}, {1, 2.0f}};
    QCOMPARE(refused_field(params), std::string("logit_bias"));
  }
  void S8_biases_that_are_no_numbers_are_refused() {
    for (const char* text : {"abc:1", "5", "5:x", "5:", ":5", ",5:1", "99999999999:1"})
      QVERIFY2(!refused_text("logit_bias", text).empty(), text);
    SamplingParams params;
    QVERIFY(set_option(params, "logit_bias", R"({"5": -1.5, "7": 2})").has_value());
    QVERIFY((params.logit_bias == std::vector<std::pair<std::int32_t, float>>{{5, -1.5f}, {7, 2.0f}}));
  }
  void S4_unknown_parameters_get_the_nearest_name() {
    QVERIFY(refused_text("temprature", "1").find("temperature") != std::string::npos);
    QVERIFY(!refused_text("n", "1000000000").empty());
    QVERIFY(!refused_text("best_of", "2").empty());
  }
};

LATHE_TEST(SamplingOptionsTest)

}  // namespace sampling_options_test
#include "sampling_options_test.moc"
