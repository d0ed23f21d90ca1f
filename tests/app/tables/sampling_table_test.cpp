// SPDX-License-Identifier: Apache-2.0
// A sampling parameter is its row: one row more is a flag, a field of requests, and a variable and a setting of sweeps; one
// row less is none of them.
#include <CLI/CLI.hpp>
#include <QTest>

#include "app/api/sweep_plan.h"
#include "app/bench/sweep/plan/sampling_json.h"
#include "app/cli/option_flags.h"
#include "app/server/generate/common_fields.h"
#include "app/server/known_fields.h"
#include "app/server/request_body.h"
#include "tests/support/sampling_table.h"
#include "tests/support/test_class.h"
#include "tests/support/verify_has.h"

namespace sampling_table_test {

using namespace lathe;
using engine::Json;
using engine::SamplingField;
using engine::SamplingParams;
using engine::SamplingTable;
using tests::kAddedParameter;
using tests::table_with_one_more;
using tests::table_without;

namespace {

/// A command line with the flags of a table.
struct CommandLine {
  explicit CommandLine(SamplingTable table) { flags.add(parser, table); }

  bool has(std::string_view name) {
    return parser.get_option_no_throw(app::flag_of(name)) != nullptr &&
           parser.help().find(app::flag_of(name).substr(2)) != std::string::npos;
  }
  engine::Result<void> run(const std::string& text, SamplingParams& params) {
    parser.parse(text);
    return flags.apply(params);
  }

  app::OptionFlags flags;
  CLI::App parser;
};

/// The fields of a request under a table.
struct Wire {
  Wire(const Json& json, SamplingTable table) : body(app::RequestBody::read(engine::dump_json(json)).value()) {
    app::RequestFields reader = body.reader();
    params = app::read_common_fields(reader, {}, table).sampling;
    app::warn_of_unread_fields(reader, app::known_fields(table));
    verdict = reader.verdict();
    warnings = reader.warnings();
  }

  app::RequestBody body;
  SamplingParams params;
  engine::Result<void> verdict;
  std::vector<app::FieldWarning> warnings;
};

app::SweepPlan plan_over(std::string_view name) {
  app::SweepPlan plan;
  plan.options.model = "model";
  plan.variables = {{std::string(name), {"1", "2"}}};
  return plan;
}

/// The plan as files have it.
Json json_of(const app::SweepPlan& plan, SamplingTable table) {
  return Json::parse(engine::dump_json(app::to_json(plan, table)));
}

template <class Value>
std::string message_of(const engine::Result<Value>& result) {
  return result ? std::string() : result.error().message;
}

}  // namespace

class SamplingTableTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void one_row_more_is_a_flag();
  void one_row_more_is_a_field();
  void one_row_more_is_a_variable();
  void one_row_less_is_nothing_data();
  void one_row_less_is_nothing();
};

void SamplingTableTest::one_row_more_is_a_flag() {
  const auto table = table_with_one_more();
  CommandLine line(table);
  QVERIFY(line.has(kAddedParameter));
  VERIFY_HAS(line.parser.help(), std::string(table.back().option.help));
  SamplingParams params;
  QVERIFY(line.run("--min-keep 3", params).has_value());
  QCOMPARE(params.min_tokens, std::int64_t{3});
  QVERIFY(!CommandLine(engine::sampling_fields()).has(kAddedParameter));
  CommandLine again(table);
  VERIFY_HAS(message_of(again.run("--min-keep 21", params)), "between 0 and 20");
}

void SamplingTableTest::one_row_more_is_a_field() {
  const auto table = table_with_one_more();
  const Wire served({{"min_keep", 3}}, table);
  QCOMPARE(served.params.min_tokens, std::int64_t{3});
  QVERIFY(served.warnings.empty() && served.verdict.has_value());
  const Wire wrong({{"min_keep", "x"}}, table);
  QCOMPARE(wrong.verdict.error().where, std::string("min_keep"));
  QCOMPARE(wrong.verdict.error().message, std::string("must be a whole number, got a string"));
  const Wire ignored({{"min_keep", 3}}, engine::sampling_fields());
  QCOMPARE(ignored.warnings.size(), std::size_t{1});
  VERIFY_HAS(ignored.warnings.front().message, "is not supported");
}

void SamplingTableTest::one_row_more_is_a_variable() {
  const auto table = table_with_one_more();
  const app::SweepPlan plan = plan_over(kAddedParameter);
  QVERIFY(app::check(plan, table).has_value() && app::check_values(plan, table).has_value());
  QCOMPARE(app::cell_of(plan, 1, table).value().sampling.min_tokens, std::int64_t{2});
  QVERIFY(!app::check(plan).has_value());
  app::SweepPlan set;
  set.sampling.min_tokens = 3;
  const Json json = json_of(set, table);
  QCOMPARE(json["sampling"]["min_keep"].get<std::string>(), std::string("3"));
  QCOMPARE(app::sweep_plan_from(json, table).value().sampling.min_tokens, std::int64_t{3});
  VERIFY_HAS(message_of(app::sweep_plan_from(json)), "there is no option \"min_keep\"");
  QCOMPARE(app::sampling_json(set.sampling, table)["min_keep"].get<int>(), 3);
  QVERIFY(!app::sampling_json(set.sampling).contains("min_keep"));
}

void SamplingTableTest::one_row_less_is_nothing_data() {
  QTest::addColumn<QByteArray>("name");
  for (const SamplingField& field : engine::sampling_fields())
    QTest::newRow(field.option.name.data()) << QByteArray(field.option.name.data());
}

void SamplingTableTest::one_row_less_is_nothing() {
  QFETCH(QByteArray, name);
  const std::string parameter = name.toStdString();
  const auto table = table_without(parameter);
  QCOMPARE(table.size() + 1, engine::sampling_fields().size());
  // command line
  QVERIFY(CommandLine(engine::sampling_fields()).has(parameter));
  QVERIFY(!CommandLine(table).has(parameter));
  // wire: max_tokens and logprobs are of the dialect, which reads them by itself
  if (!engine::find_sampling_field(engine::sampling_fields(), parameter)->dialect_decodes) {
    const Wire wire({{parameter, 12345}}, table);
    QVERIFY(wire.verdict.has_value() && wire.params == SamplingParams());
    QCOMPARE(wire.warnings.size(), std::size_t{1});
    QCOMPARE(wire.warnings.front().field, parameter);
    VERIFY_HAS(wire.warnings.front().message, "is unknown to this server");
  }
  // sweep
  if (app::can_vary(parameter)) {
    QVERIFY(app::check(plan_over(parameter)).has_value());
    VERIFY_HAS(message_of(app::check(plan_over(parameter), table)), "there is no option");
  }
  const Json all = json_of({}, engine::sampling_fields());
  QVERIFY(all["sampling"].contains(parameter) && app::sweep_plan_from(all).has_value());
  QVERIFY(!json_of({}, table)["sampling"].contains(parameter));
  VERIFY_HAS(message_of(app::sweep_plan_from(all, table)), "there is no option \"" + parameter + "\"");
}

LATHE_TEST(SamplingTableTest)

}  // namespace sampling_table_test
#include "sampling_table_test.moc"
