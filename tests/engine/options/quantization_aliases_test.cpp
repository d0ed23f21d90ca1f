// SPDX-License-Identifier: Apache-2.0
#include "engine/options/quantization_aliases.h"

#include <QTest>
#include <set>

#include "engine/api/options.h"
#include "engine/load/quantization_scheme.h"
#include "tests/support/test_class.h"

namespace quantization_aliases_test {

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
    for (const auto& [name, ours] : {std::pair("fp8", "fp8"),
                                     {"fbgemm_fp8", "fp8"},
                                     {"ao-fp8w8a16", "fp8_weight_only"},
                                     {"ptpc_fp8", "fp8"},
                                     {"8bit", "bitsandbytes_8bit"},
                                     {"ao-int8wo", "int8_g128"},
                                     {"eetq", "int8_g128"}}) {
      QVERIFY(set_option(options, "quantization", name).has_value());
      QCOMPARE(get_option(options, "quantization"), std::string(ours));
    }
  }

  /// The values of QUANTIZATION.
  void names_of_the_llm_api() {
    for (const auto& [name, ours] :
         {std::pair("None", "none"), {"4bit", "bitsandbytes_4bit"}, {"8bit", "bitsandbytes_8bit"}}) {
      EngineOptions options;
      options.quantization = "fp8";
      QVERIFY(set_option(options, "quantization", name).has_value());
      QCOMPARE(options.quantization, std::string(ours));
    }
  }

  void what_is_none_of_ours_is_explained() {
    for (const ForeignQuantization& foreign : foreign_quantizations()) {
      EngineOptions options;
      QVERIFY(find_quantization_alias(foreign.name) == nullptr);
      const auto refused = set_option(options, "quantization", foreign.name);
      QVERIFY(!refused && refused.error().message.starts_with(foreign.name));
      const std::string& said = refused.error().message;
      QVERIFY(said.find(foreign.meaning) != std::string::npos && said.find("did you mean") == std::string::npos);
      if (!foreign.nearest.empty()) {
        QVERIFY(said.ends_with("; " + std::string(foreign.nearest) + " is the nearest format"));
        QVERIFY(set_option(options, "quantization", foreign.nearest).has_value());
      }
    }
    EngineOptions options;
    QCOMPARE(set_option(options, "quantization", "experts_int8").error().message,
             std::string("experts_int8 (vLLM) is 8 bits for the matrices of experts only, which Lathe does not support; "
                         "int8_g128 is the nearest format"));
  }

  void it_may_bring_the_codes_with_it() {
    EngineOptions options;
    QVERIFY(set_option(options, "quantization", "bitsandbytes-fp4").has_value());
    QCOMPARE(get_option(options, "quantization"), std::string("bitsandbytes_4bit"));
    QCOMPARE(get_option(options, "bnb_4bit_quant_type"), std::string("fp4"));
    QVERIFY(set_option(options, "quantization", "load_in_4bit").has_value());
    QCOMPARE(get_option(options, "bnb_4bit_quant_type"), std::string("fp4"));  // says nothing of codes
  }

  /// In whatever order the two are set: keys of a plan come sorted, and a name may be the value of a variable.
  void codes_that_were_asked_for_stay_under_a_name_that_says_nothing_of_them() {
    for (const char* name : {"bitsandbytes", "bitsandbytes4", "load_in_4bit", "bitsandbytes_4bit"}) {
      EngineOptions options;
      QVERIFY(set_option(options, "bnb_4bit_quant_type", "fp4").has_value());
      QVERIFY(set_option(options, "quantization", name).has_value());
      QCOMPARE(options.quantization, std::string("bitsandbytes_4bit"));
      QCOMPARE(options.bnb_4bit_quant_type, std::string("fp4"));
      EngineOptions unasked;
      QVERIFY(set_option(unasked, "quantization", name).has_value());
      QCOMPARE(unasked.bnb_4bit_quant_type, std::string("nf4"));
    }
  }

  void what_a_checkpoint_brings_itself_is_not_asked_for() {
    for (const std::string_view name : stored_schemes()) {
      EngineOptions options;
      const auto refused = set_option(options, "quantization", name);
      QVERIFY(!refused && refused.error().message.starts_with(name));
      QVERIFY(refused.error().message.find("leave the option out") != std::string::npos);
      QCOMPARE(options, EngineOptions());
    }
    for (const QuantizationScheme* scheme : quantization_schemes()) {  // each is asked for, or said to be stored
      EngineOptions options;
      const auto set = set_option(options, "quantization", scheme->method);
      QVERIFY2(set || set.error().message.find("leave the option out") != std::string::npos, scheme->method.data());
    }
  }

  void what_was_probably_meant_is_said_data() {
    QTest::addColumn<QString>("value");
    QTest::addColumn<QString>("nearest");
    for (const auto& [value, nearest] : {std::pair("int7", "int8_g32"),
                                         {"int4", "int4_g32"},
                                         {"int8g32", "int8_g32"},
                                         {"fp9", "fp8"},
                                         {"nf4", "bitsandbytes-nf4"},
                                         {"8-bit", "8bit"},
                                         {"smooth-quant", "smoothquant"},
                                         {"bitsandbites", "bitsandbytes"}}) {
      QTest::newRow(value) << value << nearest;
    }
  }
  void what_was_probably_meant_is_said() {
    QFETCH(QString, value);
    QFETCH(QString, nearest);
    EngineOptions options;
    const QString said = QString::fromStdString(set_option(options, "quantization", value.toStdString()).error().message);
    QVERIFY2(said.contains("; did you mean " + nearest + "?"), qPrintable(said));
    QVERIFY2(said.contains("also accepted, from other systems: bitsandbytes, bitsandbytes-nf4"), qPrintable(said));
  }

  void what_is_far_from_all_gets_no_suggestion() {
    EngineOptions options;
    for (const char* value : {"", "x", "turbo-9000"}) {
      const std::string said = set_option(options, "quantization", value).error().message;
      QVERIFY2(said.find("did you mean") == std::string::npos, said.c_str());
    }
    QVERIFY(set_option(options, "kv_cache_dtype", "fp8_e4m4").error().message.find("did you mean fp8_e4m3?") !=
            std::string::npos);
    QVERIFY(set_option(options, "kv_cache_dtype", "q").error().message.find("triton_int8kv") != std::string::npos);
  }

  void what_nobody_calls_so_is_refused() {
    EngineOptions options;
    const auto refused = set_option(options, "quantization", "bitsandbytes-nf5");
    QVERIFY(!refused.has_value());
    QVERIFY(refused.error().message.find("bitsandbytes_4bit") != std::string::npos);
    QCOMPARE(options, EngineOptions());
  }
};

LATHE_TEST(QuantizationAliasesTest)

}  // namespace quantization_aliases_test
#include "quantization_aliases_test.moc"
