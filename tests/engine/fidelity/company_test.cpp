// SPDX-License-Identifier: Apache-2.0
// The committed tiny model: a request's answer is bitwise the one that it has alone, in every cell of the matrix.
#include <QObject>
#include <QtTest>

#include <map>

#include "engine/schedule/policies.h"
#include "kernels/api/backend.h"
#include "tests/support/engine_harness.h"
#include "tests/support/fidelity.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"

namespace company_test {

using namespace lathe;
using namespace lathe::tests;

namespace {

constexpr std::int64_t kVocab = 384;
constexpr int kAnswer = 60;

std::string model() { return tiny_model_path("tiny-llama"); }

/// Prompts of many lengths, every second answer sampled.
std::vector<FidelityRun> requests() {
  std::vector<FidelityRun> runs(16);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    runs[i].request = greedy_request(random_prompt(i, 9 + static_cast<int>(i) * 7 % 60, kVocab), kAnswer);
    runs[i].request.sampling.logprobs = 0;
    runs[i].request.sampling.ignore_eos = true;
    if (i % 2 == 1) runs[i].request.sampling.temperature = 0.8;
    runs[i].request.sampling.seed = i;
  }
  return runs;
}

/// The same requests with the answers that they have alone, one after the other, on a new engine for each.
std::vector<FidelityRun> solo_runs(const std::string& isa) {
  std::vector<FidelityRun> runs = requests();
  for (FidelityRun& run : runs) {
    const Answer answer = ask(*open_for(model(), {.isa = isa}), run.request);
    run.ids = answer.ids();
    for (const auto& chosen : answer.all.chosen_logprobs) run.logprobs.push_back(chosen.logprob);
  }
  return runs;
}

}  // namespace

class CompanyTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void tiny_llama_equals_its_reference_data() { add_fidelity_matrix(); }
  void tiny_llama_equals_its_reference();
  void company_changes_nothing_data() { add_fidelity_matrix(); }
  void company_changes_nothing();
  void no_policy_changes_anything_data();
  void no_policy_changes_anything();

 private:
  const std::vector<FidelityRun>& alone(const std::string& isa);
  std::map<std::string, std::vector<FidelityRun>> alone_;
};

const std::vector<FidelityRun>& CompanyTest::alone(const std::string& isa) {
  if (!alone_.contains(isa)) alone_[isa] = solo_runs(isa);
  return alone_[isa];
}

void CompanyTest::tiny_llama_equals_its_reference() {
  const FidelityCell cell = fetch_fidelity_cell();
  const engine::Json reference = read_json_file(model() + "/reference.json");
  FidelityRun run;
  run.request = greedy_request(reference["prompt_ids"].get<std::vector<std::int32_t>>(),
                               static_cast<std::int64_t>(reference["greedy"].size()));
  run.request.sampling.logprobs = 0;
  run.request.sampling.ignore_eos = true;
  run.request.sampling.prompt_logprobs = 0;
  run.prompt_logprobs = reference["prompt_logprobs"].get<std::vector<double>>();
  for (const engine::Json& token : reference["greedy"]) {
    run.ids.push_back(token[0].get<std::int32_t>());
    run.logprobs.push_back(token[1].get<double>());
  }
  const FidelityReport report = compare_runs(*open_for(model(), cell), {run}, cell);
  QVERIFY2(report.mismatches.empty(), report.mismatches.c_str());
}

void CompanyTest::company_changes_nothing() {
  const FidelityCell cell = fetch_fidelity_cell();
  const auto& runs = alone(cell.isa);
  const auto engine = open_for(model(), cell);
  const FidelityReport cold = compare_runs(*engine, runs, cell);
  QVERIFY2(cold.mismatches.empty(), cold.mismatches.c_str());
  QCOMPARE(cold.largest_error, 0.0);
  const FidelityReport warm = compare_runs(*engine, runs, cell);
  QVERIFY2(warm.mismatches.empty(), warm.mismatches.c_str());
  QCOMPARE(warm.largest_error, 0.0);
  if (!cell.tight) QVERIFY(warm.n_cached_tokens > 0);
  if (cell.tight && cell.n_requests > 2) QVERIFY(cold.n_preemptions > 0);
  QCOMPARE(engine->snapshot()->n_blocks_used, 0);
}

void CompanyTest::no_policy_changes_anything_data() {
  QTest::addColumn<QString>("isa");
  QTest::addColumn<QString>("policy");
  QTest::addColumn<int>("n_chunk");
  for (const std::string& isa : kernels::cpu_isas()) {
    for (const engine::PolicyDescriptor* policy : engine::policy_table()) {
      const std::string name(policy->name);
      for (const int n_chunk : {16, 512}) {
        QTest::addRow("%s, %s, steps of %d", isa.c_str(), name.c_str(), n_chunk)
            << QString::fromStdString(isa) << QString::fromStdString(name) << n_chunk;
      }
    }
  }
}

/// Sixteen prompts of many lengths at once: padded, or each with a whole reservation, bit by bit what they are alone.
void CompanyTest::no_policy_changes_anything() {
  QFETCH(QString, isa);
  QFETCH(QString, policy);
  QFETCH(int, n_chunk);
  const FidelityCell cell{
      .isa = isa.toStdString(), .n_requests = 16, .n_chunk = n_chunk, .policy = policy.toStdString()};
  const auto& runs = alone(cell.isa);
  const auto engine = open_for(model(), cell);
  const FidelityReport report = compare_runs(*engine, runs, cell);
  QVERIFY2(report.mismatches.empty(), report.mismatches.c_str());
  QCOMPARE(report.largest_error, 0.0);
  const auto snapshot = engine->snapshot();
  const bool pads = policy == QLatin1String("static") || policy == QLatin1String("dynamic");
  QCOMPARE(snapshot->counters.n_padding_tokens > 0, pads);
  QCOMPARE(snapshot->counters.n_preemptions, 0U);
  QCOMPARE(snapshot->n_blocks_used, 0);
}

LATHE_TEST(CompanyTest)

}  // namespace company_test
#include "company_test.moc"
