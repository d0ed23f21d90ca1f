// SPDX-License-Identifier: Apache-2.0
#include "app/api/sweep_plan.h"

#include <QTest>
#include <set>

#include "app/api/workload_field.h"
#include "app/bench/sweep/load/sweep.h"
#include "tests/support/test_class.h"

namespace sweep_plan_test {

using namespace lathe::app;
using lathe::engine::Json;

namespace {

std::vector<std::string> values(const char* text) {
  const auto variable = parse_variable(text);
  return variable ? variable->values : std::vector<std::string>{variable.error().message};
}

SweepPlan plan_of(std::vector<SweepVariable> variables) {
  SweepPlan plan;
  plan.options.model = "somewhere";
  plan.variables = std::move(variables);
  return plan;
}

std::string refusal(const SweepPlan& plan) {
  const auto checked = check(plan);
  return checked ? "" : checked.error().message;
}

}  // namespace

class SweepPlanTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void variables_are_lists_and_ranges() {
    QCOMPARE(values("dtype=float32,bfloat16"), (std::vector<std::string>{"float32", "bfloat16"}));
    QCOMPARE(values("concurrency=1:16:*2"), (std::vector<std::string>{"1", "2", "4", "8", "16"}));
    QCOMPARE(values("temperature=0:1:0.25"), (std::vector<std::string>{"0", "0.25", "0.5", "0.75", "1"}));
    QCOMPARE(values("temperature=0:0.3:0.1"), (std::vector<std::string>{"0", "0.1", "0.2", "0.3"}));
    QCOMPARE(values("concurrency=1,10:30:10"), (std::vector<std::string>{"1", "10", "20", "30"}));
    QCOMPARE(parse_variable("max-num-seqs=1")->name, std::string("max_num_seqs"));
  }

  void lists_stand_in_brackets_and_colons_of_texts_part_nothing() {
    QCOMPARE(values("logit_bias=5:1"), (std::vector<std::string>{"5:1"}));
    QCOMPARE(values("logit_bias={5:1,6:-2},7:3"), (std::vector<std::string>{"{5:1,6:-2}", "7:3"}));
    QCOMPARE(values("stop_token_ids=[1,2],[],3"), (std::vector<std::string>{"[1,2]", "[]", "3"}));
    QCOMPARE(values("stop=[\"a,]\",\"b\\\"]\"],c"), (std::vector<std::string>{"[\"a,]\",\"b\\\"]\"]", "c"}));
    QCOMPARE(values("stop=[INST]"), (std::vector<std::string>{"[INST]"}));
    QCOMPARE(values("dataset=a:b.txt,[c,d"), (std::vector<std::string>{"a:b.txt", "[c", "d"}));
    QCOMPARE(parse_variable("stop_token_ids=[1,2]3").error().message,
             std::string("'stop_token_ids=[1,2]3': [1,2] is followed by no comma"));
    QCOMPARE(parse_variable("stop_token_ids=[1,2],").error().message,
             std::string("'stop_token_ids=[1,2],' has an empty value"));
    QVERIFY(check_values(plan_of({{"logit_bias", {"5:1", "{5:1,6:-2}"}}, {"stop_token_ids", {"[1,2]", "[]"}}})).has_value());
  }

  void the_devices_of_a_machine_may_vary() {
    QVERIFY(check_values(plan_of({{"device", {"cpu", "cuda", "cuda:1"}}})).has_value());
    const auto refused = check_values(plan_of({{"device", {"cpu", "cuda:x"}}}));
    QVERIFY(!refused && refused.error().message.find("one of cpu|cuda|cuda:N") != std::string::npos);
  }

  void what_is_no_variable_is_refused() {
    for (const char* text :
         {"", "=1", "name", "a=", "a=1,,2", "a=1:2", "a=1:2:0", "a=1:2:*1", "a=0:2:*2", "a=x:2:1", "a=0:1e9:1"}) {
      QVERIFY2(!parse_variable(text).has_value(), text);
    }
  }

  void cells_are_all_combinations() {
    const SweepPlan plan =
        plan_of({{"concurrency", {"1", "2"}}, {"dtype", {"float32", "bfloat16", "float16"}}, {"temperature", {"0", "1"}}});
    QCOMPARE(n_cells(plan), std::size_t{12});
    std::set<std::vector<std::pair<std::string, std::string>>> seen;
    for (std::size_t i = 0; i < 12; ++i) seen.insert(values_of(plan, i));
    QCOMPARE(seen.size(), std::size_t{12});
    const auto cell = cell_of(plan, 11);
    QCOMPARE(cell->workload.concurrency, std::int64_t{2});
    QCOMPARE(cell->options.dtype, std::string("float16"));
    QCOMPARE(cell->sampling.temperature, 1.0);
    QCOMPARE(n_cells(plan_of({})), std::size_t{1});
  }

  void a_value_that_its_setting_refuses_is_told_by_its_cell() {
    const SweepPlan plan = plan_of({{"block_size", {"16", "0"}}});
    QVERIFY(refusal(plan).empty());
    QVERIFY(cell_of(plan, 0).has_value());
    QVERIFY(cell_of(plan, 1).error().message.find("block_size") != std::string::npos);
  }

  /// 1.5 and -3 are numbers, if no numbers for that setting: their cells say so.
  void a_word_that_can_be_no_value_is_told_before_any_cell() {
    const auto told = [](const char* name, std::vector<std::string> values) {
      const auto checked = check_values(plan_of({{name, std::move(values)}}));
      return checked ? std::string() : checked.error().message;
    };
    QVERIFY(told("quantization", {"none", "int7"}).find("did you mean int8_g32?") != std::string::npos);
    QVERIFY(told("load", {"poison"}).find("poisson") != std::string::npos);
    QVERIFY(told("concurrency", {"1", "many"}).find("whole number") != std::string::npos);
    QVERIFY(told("temperature", {"hot"}).find("temperature") != std::string::npos);
    QVERIFY(told("enable_prefix_caching", {"true", "maybe"}).find("true or false") != std::string::npos);
    QCOMPARE(told("quantization", {"none", "bitsandbytes"}), std::string());
    QCOMPARE(told("max_num_seqs", {"4", "-3"}), std::string());
    QCOMPARE(told("concurrency", {"1.5"}), std::string());
  }

  void a_plan_is_checked() {
    QVERIFY(refusal(plan_of({{"concurency", {"1"}}})).find("did you mean concurrency?") != std::string::npos);
    QCOMPARE(refusal(plan_of({{"dtype", {"auto"}}, {"dtype", {"float32"}}})), std::string("is given twice as a variable"));
    QCOMPARE(refusal(plan_of({{"a", {}}, {"b", {}}, {"c", {}}, {"d", {}}})), std::string("at most 3 variables, got 4"));
    QCOMPARE(refusal(plan_of({{"concurrency", {}}})), std::string("has no value"));
    QVERIFY(refusal(plan_of({{"max_tokens", {"4"}}})).find("output_tokens") != std::string::npos);
    QVERIFY(refusal(plan_of({{"tool_call_parser", {"none"}}})).find("not chats") != std::string::npos);
    QCOMPARE(refusal(plan_of({{"seed", {"4"}}})),
             std::string("cannot be a variable: the seed of each run is drawn from that of the plan"));
    SweepPlan none = plan_of({});
    none.repeats = 0;
    QCOMPARE(refusal(none), std::string("must be between 1 and 1000, got 0"));
  }

  /// Cells that differ in what the work does not look at would show noise as its effect.
  void what_has_no_effect_on_the_work_is_no_variable() {
    const auto told = [](std::vector<SweepVariable> variables, SweepWorkload work, const char* url = "") {
      SweepPlan plan = plan_of(std::move(variables));
      plan.workload = std::move(work);
      plan.target.url = url;
      return refusal(plan);
    };
    for (const char* name : {"prompt_tokens", "shared_prefix", "turn_tokens"}) {
      QCOMPARE(told({{name, {"0.5"}}}, {.dataset = "a.txt"}), std::string("has no effect: prompts come from the dataset"));
      QCOMPARE(told({{name, {"0.5"}}, {"dataset", {"a.txt"}}}, {}),
               std::string("has no effect: prompts come from the dataset"));
      QCOMPARE(told({{name, {"0.5"}}}, {}), std::string());
    }
    QVERIFY(told({}, {.shared_prefix = 0.5, .dataset = "a.txt"}).starts_with("must be 0"));
    QCOMPARE(told({{"output_tokens", {"1"}}}, {.dataset = "a.txt"}), std::string());
    QCOMPARE(told({{"output_tokens", {"1"}}}, {.load = "replay", .trace = "a.csv"}),
             std::string("has no effect: the trace defines it"));
    QVERIFY(told({{"rate", {"1"}}}, {}).starts_with("has no effect: load concurrency"));
    QVERIFY(told({{"concurrency", {"1"}}}, {.load = "poisson"}).starts_with("has no effect: load poisson"));
    QCOMPARE(told({{"concurrency", {"2", "4", "2"}}}, {}), std::string("has the same value twice"));
    QCOMPARE(told({{"rate", {"1"}}, {"load", {"concurrency", "poisson"}}}, {}), std::string());
    QVERIFY(told({}, {.too_long = "cut"}, "http://there:1").starts_with("must be fail"));
    QCOMPARE(told({}, {.too_long = "cut"}), std::string());
  }

  void settings_that_conflict_are_reset_and_others_stay() {
    const auto reset = [](SweepWorkload work, bool of_target = false) {
      reset_conflicts(work, of_target);
      return work;
    };
    SweepWorkload work;
    work.shared_prefix = 0.5;
    work.turns = 3;
    work.too_long = "cut";
    work.trace = "trace.csv";
    QCOMPARE(reset(work).shared_prefix, 0.5);
    QCOMPARE(reset(work).turns, std::int64_t{3});
    QCOMPARE(reset(work).too_long, std::string("cut"));
    QVERIFY(reset(work).trace.empty());  // it is for load replay
    QCOMPARE(reset(work, true).too_long, std::string("fail"));
    for (const char* load : {"concurrency", "constant", "replay", "saturation"}) {
      for (const char* dataset : {"", "prompts.txt"}) {
        work.load = load;
        work.dataset = dataset;
        for (const bool of_target : {false, true}) {
          SweepPlan plan = plan_of({});
          if (of_target) plan.target.url = "http://there:1";
          plan.workload = work;
          QVERIFY2(!refusal(plan).empty() || std::string(load) == "replay", load);
          plan.workload = reset(work, of_target);
          QCOMPARE(refusal(plan), std::string());
          QCOMPARE(plan.workload.dataset, std::string(dataset));
        }
      }
    }
  }

  void lengths_are_spread_no_further_than_their_distribution_goes() {
    SweepPlan plan = plan_of({});
    plan.workload.length_spread = 1.5;
    QVERIFY2(refusal(plan).starts_with("must be at most 1, got 1.5"), refusal(plan).c_str());
    QCOMPARE(check(plan).error().where, std::string("length_spread"));
    plan.workload.length_distribution = "lognormal";
    QCOMPARE(refusal(plan), std::string());
    QCOMPARE(set_option(plan.workload, "length_spread", "11").error().message,
             std::string("length_spread must be between 0 and 10, got 11"));
    QCOMPARE(set_option(plan.workload, "length_distribution", "normal").error().message,
             std::string("length_distribution must be one of uniform|lognormal, got \"normal\"; did you mean lognormal?"));
    plan.variables = {{"length_distribution", {"lognormal", "uniform"}}};  // each of its cells says so
    QCOMPARE(refusal(plan), std::string());
    QVERIFY(lathe::app::cell_of(plan, 0).has_value());
    QCOMPARE(lathe::app::cell_of(plan, 1).error().where, std::string("length_spread"));
    plan.workload.length_spread = 0;
    QVERIFY2(refusal(plan).starts_with("has no effect: with length_spread 0"), refusal(plan).c_str());
    plan.workload = {.load = "replay", .trace = "a.csv"};
    QCOMPARE(refusal(plan), std::string("has no effect: the trace defines it"));
  }

  void a_search_of_the_rate_is_checked() {
    const auto told = [](std::vector<SweepVariable> variables, SweepWorkload work) {
      SweepPlan plan = plan_of(std::move(variables));
      plan.workload = std::move(work);
      return refusal(plan);
    };
    QCOMPARE(told({{"prompt_tokens", {"8", "16"}}}, {.load = "saturation"}), std::string());
    QCOMPARE(told({{"rate", {"1"}}}, {.load = "saturation"}), std::string("has no effect: load saturation finds it"));
    QVERIFY(told({{"concurrency", {"1"}}}, {.load = "saturation"}).starts_with("has no effect: load saturation"));
    QVERIFY(told({}, {.load = "saturation", .turns = 2}).starts_with("must be 1: load saturation"));
    QVERIFY(told({}, {.requests = 3, .load = "saturation"}).starts_with("must be at least 4, got 3"));
    QCOMPARE(told({}, {.requests = 4, .load = "saturation"}), std::string());
    QVERIFY(told({}, {.load = "saturation", .trace = "a.csv"}).starts_with("a trace needs load replay"));
    // Where the load varies, the cell whose load does not allow turns reports the error.
    SweepPlan plan = plan_of({{"load", {"poisson", "saturation"}}});
    plan.workload.turns = 2;
    QCOMPARE(refusal(plan), std::string());
    QVERIFY(lathe::app::cell_of(plan, 0).has_value());
    QCOMPARE(lathe::app::cell_of(plan, 1).error().where, std::string("turns"));
    QCOMPARE((SweepWorkload{.load = "saturation", .concurrency = 64}).n_requests(), std::int64_t{40});
  }

  void a_plan_reads_back_as_it_was_written() {
    SweepPlan plan = plan_of({{"concurrency", {"1", "4"}}, {"quantization", {"none", "int8_g32"}}});
    plan.repeats = 5;
    plan.seed = 77;
    plan.shuffle = false;
    plan.sampling.temperature = 0;
    plan.workload.output_tokens = 33;
    plan.workload.length_spread = 1.25;
    plan.workload.length_distribution = "lognormal";
    plan.workload.load = "saturation";
    plan.workload.rate = 2.5;
    plan.workload.turns = 3;
    plan.workload.turn_tokens = 9;
    plan.workload.think_time = 0.5;
    plan.goal = {.ttft_ms = 200, .itl_ms = 50.5};
    plan.parse_special = true;
    const auto again = sweep_plan_from(Json::parse(lathe::engine::dump_json(to_json(plan))));
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QCOMPARE(lathe::engine::dump_json(to_json(*again)), lathe::engine::dump_json(to_json(plan)));
  }

  void a_broken_plan_names_what_is_wrong() {
    const auto error = [](const char* text) { return sweep_plan_from(Json::parse(text)).error(); };
    QVERIFY(error("[]").message.find("object") != std::string::npos);
    QCOMPARE(error(R"({"repeat": 3})").where, std::string("repeat"));
    QCOMPARE(error(R"({"workload": {"concurrency": 0}})").where, std::string("concurrency"));
    QCOMPARE(error(R"({"variables": [{"name": "dtype"}]})").where, std::string("variables"));
    QCOMPARE(error(R"({"repeats": -1})").where, std::string("repeats"));
  }

  void the_order_keeps_cells_of_one_engine_together() {
    const SweepPlan plan = plan_of({{"concurrency", {"1", "2", "3", "4", "5"}}, {"dtype", {"float32", "bfloat16"}}});
    const std::vector<std::size_t> order = order_of(plan);
    QCOMPARE(std::set<std::size_t>(order.begin(), order.end()).size(), std::size_t{10});
    for (std::size_t i = 1; i < 5; ++i) QCOMPARE(values_of(plan, order[i])[1], values_of(plan, order[0])[1]);
    QCOMPARE(order_of(plan), order);
    SweepPlan in_order = plan;
    in_order.shuffle = false;
    QVERIFY(order_of(in_order) != order);
  }
};

LATHE_TEST(SweepPlanTest)

}  // namespace sweep_plan_test
#include "sweep_plan_test.moc"
