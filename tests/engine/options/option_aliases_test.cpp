// SPDX-License-Identifier: Apache-2.0
#include "engine/options/option_aliases.h"

#include <QTest>
#include <algorithm>
#include <set>

#include "engine/api/options.h"
#include "tests/support/test_class.h"

namespace option_aliases_test {

using namespace lathe::engine;

namespace {

bool is_choice(std::string_view option, std::string_view value) {
  const auto choices = choices_of(engine_option(option));
  return std::find(choices.begin(), choices.end(), value) != choices.end();
}

}  // namespace

class OptionAliasesTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_row_means_a_choice_and_is_none() {
    std::set<std::pair<std::string_view, std::string_view>> names;
    for (const OptionAlias& alias : option_aliases()) {
      QVERIFY(is_choice(alias.option, alias.value) && !is_choice(alias.option, alias.name));
      QVERIFY(names.insert({alias.option, alias.name}).second && !alias.source.empty());
    }
  }

  void other_systems_names_are_taken() {
    EngineOptions options;
    QVERIFY(set_option(options, "kv_cache_dtype", "fp8").has_value());
    QCOMPARE(options.kv_cache_dtype, std::string("fp8_e4m3"));
    QVERIFY(set_option(options, "kv_cache_dtype", "int8_per_token_head").has_value());
    QCOMPARE(options.kv_cache_dtype, std::string("int8"));
  }

  void what_nobody_calls_so_stays() {
    QCOMPARE(our_name_of("kv_cache_dtype", "int9"), std::string_view("int9"));
    QCOMPARE(our_name_of("dtype", "fp8"), std::string_view("fp8"));
    EngineOptions options;
    QVERIFY(!set_option(options, "dtype", "fp8").has_value());
  }
};

LATHE_TEST(OptionAliasesTest)

}  // namespace option_aliases_test
#include "option_aliases_test.moc"
