// SPDX-License-Identifier: Apache-2.0
#include "engine/base/quantization_aliases.h"

#include <QTest>
#include <set>

#include "engine/api/options.h"

using namespace lathe::engine;

class QuantizationAliasesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_name_stands_for_a_choice_and_is_none_itself() {
    const std::vector<std::string_view> choices = choices_of(engine_option("quantization"));
    const auto is_choice = [&](std::string_view name) {
      return std::find(choices.begin(), choices.end(), name) != choices.end();
    };
    std::set<std::string_view> names;
    for (const QuantizationAlias& alias : quantization_aliases()) {
      QVERIFY(is_choice(alias.quantization) && !is_choice(alias.name));
      QVERIFY(names.insert(alias.name).second && !alias.source.empty());
    }
  }

  void a_name_of_another_system_sets_ours() {
    EngineOptions options;
    QVERIFY(set_option(options, "quantization", "bitsandbytes8").has_value());
    QCOMPARE(get_option(options, "quantization"), std::string("bitsandbytes_8bit"));
  }

  void numbers_of_8_bits_have_other_names() {
    EngineOptions options;
    for (const auto& [name, ours] : {std::pair("fp8", "fp8"), {"fbgemm_fp8", "fp8"}, {"ao-fp8w8a16", "fp8_weight_only"}}) {
      QVERIFY(set_option(options, "quantization", name).has_value());
      QCOMPARE(get_option(options, "quantization"), std::string(ours));
    }
  }

  void it_may_bring_the_codes_with_it() {
    EngineOptions options;
    QVERIFY(set_option(options, "quantization", "bitsandbytes-fp4").has_value());
    QCOMPARE(get_option(options, "quantization"), std::string("bitsandbytes_4bit"));
    QCOMPARE(get_option(options, "bnb_4bit_quant_type"), std::string("fp4"));
    QVERIFY(set_option(options, "quantization", "load_in_4bit").has_value());
    QCOMPARE(get_option(options, "bnb_4bit_quant_type"), std::string("fp4"));  // says nothing of codes
  }

  void what_nobody_calls_so_is_refused() {
    EngineOptions options;
    const auto refused = set_option(options, "quantization", "bitsandbytes-nf5");
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("bitsandbytes_4bit") != std::string::npos);
    QCOMPARE(options, EngineOptions());
  }
};

QTEST_GUILESS_MAIN(QuantizationAliasesTest)
#include "quantization_aliases_test.moc"
