// SPDX-License-Identifier: Apache-2.0
#include "engine/api/options.h"

#include <QTest>
#include <locale>
#include <set>

#include "engine/api/option_value.h"
#include "tests/support/test_class.h"

namespace options_test {

using namespace lathe::engine;

namespace {

EngineOptions valid() {
  EngineOptions options;
  options.model = "some/folder";
  return options;
}
std::string refusal(std::string_view name, std::string_view value) {
  EngineOptions options = valid();
  const auto set = set_option(options, name, value);
  return set ? std::string() : set.error().message;
}

}  // namespace

class OptionsTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_option_has_one_name_and_help() {
    std::set<std::string_view> names;
    for (const OptionDescriptor& option : engine_option_table()) {
      QVERIFY(names.insert(option.name).second);
      QVERIFY(option.help.ends_with('.') && option.help.size() > 10);
      QCOMPARE(option.kind == OptionKind::choice, !choices_of(option).empty());
    }
    QCOMPARE(names.size(), std::size_t{40});
  }
  void smoothquant_refuses_what_it_has_no_scales_for() {
    EngineOptions options = valid();
    options.smoothquant_per_token = false;
    QVERIFY(validate(options).has_value());  // of no other quantization's concern
    options.quantization = "smoothquant";
    const auto refused = validate(options);
    QVERIFY(!refused.has_value() && refused.error().where == "smoothquant_per_token");
    options.smoothquant_per_token = true;
    QVERIFY(validate(options).has_value());
    options.smoothquant_per_channel = false;
    QCOMPARE(validate(options).error().where, std::string("smoothquant_per_channel"));
    options.smoothquant_alpha = 1.5;
    QCOMPARE(validate(options).error().where, std::string("smoothquant_alpha"));
  }
  void every_value_is_taken_back_unchanged() {
    const EngineOptions options = valid();
    for (const OptionDescriptor& option : engine_option_table()) {
      EngineOptions copy = options;
      QVERIFY(set_option(copy, option.name, get_option(options, option.name)).has_value());
      QVERIFY(copy == options);
    }
  }
  void every_integer_is_refused_beside_its_range() {
    for (const OptionDescriptor& option : engine_option_table()) {
      if (option.kind != OptionKind::integer) continue;
      QVERIFY(option.min < option.max);
      const std::string below = number_text(option.min - 1), above = number_text(option.max + 1);
      QVERIFY(refusal(option.name, number_text(option.min)).empty());
      QVERIFY(refusal(option.name, number_text(option.max)).empty());
      QVERIFY(refusal(option.name, below).find(below) != std::string::npos);
      QVERIFY(refusal(option.name, above).find(number_text(option.max)) != std::string::npos);
    }
  }
  void setting_changes_that_option_only() {
    EngineOptions options = valid();
    QVERIFY(set_option(options, "max_num_seqs", "7").has_value());
    QCOMPARE(options.max_num_seqs, std::int64_t{7});
    options.max_num_seqs = EngineOptions().max_num_seqs;
    QVERIFY(options == valid());
  }
  void numbers_are_whole_and_plain_data() {
    QTest::addColumn<QByteArray>("text");
    for (const char* text : {"", " 5", "5 ", "+5", "5.0", "5e2", "0x10", "five", "1,000", "99999999999999999999", "--5"}) {
      QTest::newRow(text) << QByteArray(text);
    }
  }
  void numbers_are_whole_and_plain() {
    QFETCH(QByteArray, text);
    QVERIFY(!refusal("block_size", text.toStdString()).empty());
  }
  void booleans_have_four_spellings_each() {
    EngineOptions options = valid();
    for (const char* text : {"false", "0", "no", "off"}) {
      options.enable_prefix_caching = true;
      QVERIFY(set_option(options, "enable_prefix_caching", text).has_value() && !options.enable_prefix_caching);
    }
    for (const char* text : {"true", "1", "yes", "on"}) {
      options.enable_prefix_caching = false;
      QVERIFY(set_option(options, "enable_prefix_caching", text).has_value() && options.enable_prefix_caching);
    }
    QVERIFY(!refusal("enable_prefix_caching", "maybe").empty());
  }
  void choices_are_named_when_one_is_refused() {
    const std::string message = refusal("dtype", "int3");
    QVERIFY(message.find("int3") != std::string::npos && message.find("bfloat16") != std::string::npos);
    QVERIFY(refusal("isa", "").empty());
    QVERIFY(refusal("isa", "avx2").empty());
    QVERIFY(refusal("isa", "sse9").find("one of scalar|avx2") != std::string::npos);
  }
  void a_typo_gets_the_nearest_name() {
    QVERIFY(refusal("max_num_seq", "1").find("did you mean max_num_seqs?") != std::string::npos);
    QVERIFY(refusal("blok_size", "1").find("block_size") != std::string::npos);
    QVERIFY(refusal("dtpye", "auto").find("dtype") != std::string::npos);
  }
  void a_name_that_is_near_to_nothing_gets_no_suggestion() {
    QVERIFY(refusal("zzzzqqqqxxxx", "1").find("did you mean") == std::string::npos);
    const std::string message = refusal(std::string(1'000'000, 'x'), "1");
    QVERIFY(!message.empty() && message.size() < 1024);
  }
  void edit_distance_counts_changes() {
    QCOMPARE(edit_distance("", "abc"), std::size_t{3});
    QCOMPARE(edit_distance("kitten", "sitting"), std::size_t{3});
    QCOMPARE(edit_distance("same", "same"), std::size_t{0});
  }
  void a_model_must_be_named() { QVERIFY(validate(EngineOptions()).error().where == "model"); }
  void the_defaults_are_valid() { QVERIFY(validate(valid()).has_value()); }
  void values_set_past_the_parser_are_checked_too() {
    EngineOptions options = valid();
    options.block_size = 0;
    QCOMPARE(validate(options).error().where, std::string("block_size"));
    options = valid();
    options.dtype = "float3";
    QCOMPARE(validate(options).error().where, std::string("dtype"));
  }
  void a_step_must_hold_a_token_of_each_running_request() {
    EngineOptions options = valid();
    options.max_num_seqs = 64;
    options.max_num_batched_tokens = 63;
    QVERIFY(validate(options).error().message.find("63") != std::string::npos);
    options.max_num_batched_tokens = 64;
    QVERIFY(validate(options).has_value());
  }
  void a_step_has_more_tokens_on_a_device_where_nobody_says_otherwise() {
    EngineOptions options = valid();
    QCOMPARE(batched_tokens(options), std::int64_t{512});
    for (const char* device : {"cuda", "cuda:1"}) {
      options.device = device;
      QCOMPARE(batched_tokens(options), std::int64_t{2048});
    }
    options.max_num_seqs = 4000;
    QCOMPARE(batched_tokens(options), std::int64_t{4000});
    QVERIFY(validate(options).has_value());
    options.max_num_batched_tokens = 4096;
    QCOMPARE(batched_tokens(options), std::int64_t{4096});
    options.device = "cpu";
    QCOMPARE(batched_tokens(options), std::int64_t{4096});
  }
  void a_batch_is_no_larger_than_what_may_run() {
    EngineOptions options = valid();
    options.preferred_batch_size = options.max_num_seqs;
    QVERIFY(validate(options).has_value());
    ++options.preferred_batch_size;
    QCOMPARE(validate(options).error().where, std::string("preferred_batch_size"));
  }
  void a_policy_that_is_not_there_is_refused() {
    QVERIFY(refusal("policy", "best").find("paged|static|dynamic|continuous") != std::string::npos);
  }
  void without_chunks_a_prompt_must_fit_into_a_step() {
    EngineOptions options = valid();
    options.enable_chunked_prefill = false;
    options.max_model_len = 1024;
    QVERIFY(!validate(options).has_value());
    options.max_num_batched_tokens = 1024;
    QVERIFY(validate(options).has_value());
  }
  void U6_numbers_do_not_follow_the_locale() {
    const char* old = std::setlocale(LC_ALL, nullptr);
    const std::string before = old == nullptr ? "C" : old;
    for (const char* name : {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8"}) std::setlocale(LC_ALL, name);
    QCOMPARE(number_text(0.5), std::string("0.5"));
    QCOMPARE(number_text(1e-7), std::string("1e-07"));
    std::setlocale(LC_ALL, before.c_str());
  }
};

LATHE_TEST(OptionsTest)

}  // namespace options_test
#include "options_test.moc"
