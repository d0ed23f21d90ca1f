// SPDX-License-Identifier: Apache-2.0
// Tests of the ways to measure a cell again: its plan, its command, and a request of it.
#include "app/api/sweep_reproduction.h"

#include <QTest>

#include "tests/support/sweep_results.h"
#include "tests/support/test_class.h"

namespace sweep_reproduction_test {

using namespace lathe;
using namespace lathe::app;
using tests::plan_of_two;

namespace {

SweepPlan plan_of_six() {
  SweepPlan plan;
  plan.name = "sampled";
  plan.options.model = "/models/tiny";
  plan.sampling.temperature = 0.5;
  plan.sampling.top_k = 7;
  plan.sampling.stop = {"it's over"};
  plan.variables = {{"policy", {"paged", "static"}}, {"concurrency", {"1", "4", "16"}}};
  return plan;
}

}  // namespace

class SweepReproductionTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void a_cell_is_measured_again_by_its_plan_or_its_command() {
    SweepPlan plan = plan_of_two();
    plan.workload.prompt_tokens = 40;
    plan.options.block_size = 32;
    plan.goal.ttft_ms = 200;
    const auto again = sweep_plan_from(engine::Json::parse(cell_plan_json(plan, 2).dump()));
    QVERIFY(again.has_value());
    QCOMPARE(n_cells(*again), std::size_t{1});
    QVERIFY(values_of(*again, 0) == values_of(plan, 2));
    QCOMPARE(again->options.block_size, 32);
    QCOMPARE(
        QString::fromStdString(cell_command(plan, 2)),
        QString(
            "lathe sweep --model 'a model'\\''s folder' --var 'concurrency=2' --var 'load=concurrency' --prompt-tokens='40' "
            "--block-size='32' --repeats 3 --sweep-seed 1 --goal-ttft-ms 200"));
  }

  void a_cell_is_asked_of_a_server() {
    const std::string curl = cell_curl(plan_of_six(), 0, "http://127.0.0.1:8000");
    QVERIFY2(curl.starts_with("curl 'http://127.0.0.1:8000/v1/completions' -H 'Content-Type: application/json' -d '{"),
             curl.c_str());
    for (const char* part : {"\"model\":\"tiny\"", "\"temperature\":0.5", "\"top_k\":7", "it'\\''s over",
                             "\"max_tokens\":128", "\"prompt\":[3,4,5,", "\"ignore_eos\":true"}) {
      QVERIFY2(curl.find(part) != std::string::npos, part);
    }
    SweepPlan plan = plan_of_six();
    plan.target.url = "http://there:1";
    plan.variables = {{"temperature", {"0", "0.25"}}};
    QVERIFY(cell_curl(plan, 1, "").find("'http://there:1/v1/completions'") != std::string::npos);
    QVERIFY(cell_curl(plan, 1, "").find("\"temperature\":0.25") != std::string::npos);
    QVERIFY(cell_command(plan, 1).starts_with("lathe sweep --target 'http://there:1' --var 'temperature=0.25'"));
  }
};

LATHE_TEST(SweepReproductionTest)

}  // namespace sweep_reproduction_test
#include "sweep_reproduction_test.moc"
