// SPDX-License-Identifier: Apache-2.0
// The trained TinyStories-656K against a float64 reference: every greedy token, and every log probability within 1e-3.
#include <QObject>
#include <QtTest>

#include "tests/support/fidelity.h"
#include "tests/support/shared_data.h"
#include "tests/support/test_class.h"

namespace tinystories656k_test {

using namespace lathe::tests;

namespace {

constexpr const char* kModel = "data/models/TinyStories-656K-hf";

}  // namespace

class TinyStories656kTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void every_cell_equals_the_reference_data() { add_fidelity_matrix(); }
  void every_cell_equals_the_reference();
  void prompts_have_the_log_probabilities_of_the_reference_data() { add_fidelity_matrix(); }
  void prompts_have_the_log_probabilities_of_the_reference();
};

/// Cold, then warm; forced preemption where the cell is tight and there is somebody to throw out.
void TinyStories656kTest::every_cell_equals_the_reference() {
  SKIP_WITHOUT_SHARED(kModel);
  const FidelityCell cell = fetch_fidelity_cell();
  const auto runs = read_reference_greedy(shared_path(kModel) + "/reference_greedy.json");
  const auto engine = open_for(shared_path(kModel), cell);
  const FidelityReport cold = compare_runs(*engine, runs, cell);
  QVERIFY2(cold.mismatches.empty(), cold.mismatches.c_str());
  const FidelityReport warm = compare_runs(*engine, runs, cell);
  QVERIFY2(warm.mismatches.empty(), warm.mismatches.c_str());
  if (cell.tight && cell.n_requests > 1) QVERIFY(cold.n_preemptions > 0 && warm.n_preemptions > 0);
  if (!cell.tight) QVERIFY2(warm.n_cached_tokens > 0, "the second round found nothing in the cache");
  QCOMPARE(engine->snapshot()->n_blocks_used, 0);
}

void TinyStories656kTest::prompts_have_the_log_probabilities_of_the_reference() {
  SKIP_WITHOUT_SHARED(kModel);
  const FidelityCell cell = fetch_fidelity_cell();
  auto runs = read_reference_greedy(shared_path(kModel) + "/reference_greedy.json");
  for (FidelityRun& run : runs) {
    run.request.sampling.prompt_logprobs = 0;
    run.request.sampling.max_tokens = 1;
    run.ids.resize(1);
    run.logprobs.resize(1);
  }
  const FidelityReport report = compare_runs(*open_for(shared_path(kModel), cell), runs, cell);
  QVERIFY2(report.mismatches.empty(), report.mismatches.c_str());
  QVERIFY2(report.largest_error > 0, "nothing was compared");
}

LATHE_TEST(TinyStories656kTest)

}  // namespace tinystories656k_test
#include "tinystories656k_test.moc"
