// SPDX-License-Identifier: Apache-2.0
// How many snapshots of recurrent states a load has, and what they take.
#include <QTest>

#include "engine/schedule/policies.h"
#include "engine/serve/memory_plan.h"
#include "engine/serve/opened_model.h"
#include "tests/support/test_class.h"
#include "tests/support/tiny_model.h"
#include "tests/support/written_families.h"

namespace snapshot_memory_test {

using namespace lathe;
using namespace lathe::engine;

namespace {

/// A model with recurrent layers, and a gibibyte of free memory.
class PlanCase {
 public:
  explicit PlanCase(const std::string& path = tests::family_path("qwen3-5")) : config(open_model(path)->config) {}

  EngineOptions options;
  std::optional<std::int64_t> free = std::int64_t{1} << 30;
  ModelConfig config;

  Result<MemoryPlan> plan() const {
    const auto backend = kernels::make_reference_backend();
    return plan_memory(*backend, config, kernels::Dtype::f32, options, free);
  }
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

class SnapshotMemoryTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void snapshots_are_two_for_each_sequence();
  void snapshots_take_an_eighth_of_what_the_weights_leave();
  void snapshots_follow_their_budget();
  void what_shares_no_prefixes_has_no_snapshots();
};

void SnapshotMemoryTest::snapshots_are_two_for_each_sequence() {
  PlanCase test;
  for (const auto& [n_seqs, n_snapshots] : {std::pair(1, 8), std::pair(4, 8), std::pair(16, 32)}) {
    test.options.max_num_seqs = n_seqs;
    const auto plan = test.plan();
    QCOMPARE(plan->limits.n_snapshots, n_snapshots);
    QCOMPARE(plan->estimate.n_snapshots, n_snapshots);
    QCOMPARE(plan->snapshot_bytes, plan->state_bytes / n_seqs * n_snapshots);
    QCOMPARE(plan->estimate.snapshots, plan->snapshot_bytes);
    QCOMPARE(plan->estimate.states, plan->state_bytes);
    QCOMPARE(plan->estimate.kv, plan->state_bytes + plan->snapshot_bytes + plan->limits.n_blocks * plan->block_bytes);
    QVERIFY(plan->warnings.empty());
  }
}

void SnapshotMemoryTest::snapshots_take_an_eighth_of_what_the_weights_leave() {
  PlanCase test;
  test.options.max_num_seqs = 4;
  const MemoryPlan roomy = *test.plan();
  const std::int64_t slot_bytes = roomy.state_bytes / 4,
                     fixed = roomy.estimate.total() - roomy.estimate.kv + roomy.state_bytes;
  test.free = fixed + 8 * 3 * slot_bytes;
  MemoryPlan plan = *test.plan();
  QCOMPARE(plan.limits.n_snapshots, 3);
  QVERIFY(plan.estimate.verdict == FitVerdict::tight || plan.estimate.verdict == FitVerdict::fits);
  // One context comes first.
  test.free = fixed + roomy.context_bytes + slot_bytes;
  QVERIFY(test.plan()->limits.n_snapshots <= 1);
  test.free = fixed + roomy.context_bytes;
  plan = *test.plan();
  QCOMPARE(plan.limits.n_snapshots, 0);
  QVERIFY(plan.estimate.verdict != FitVerdict::wont_fit);
  QCOMPARE(plan.warnings.size(), std::size_t{1});
  QVERIFY2(contains(plan.warnings.front(), "prefix caching is off: one snapshot of this model's recurrent states takes"),
           plan.warnings.front().c_str());
  test.options.state_snapshot_memory_bytes = slot_bytes;  // more than there is, and the estimate says so
  QCOMPARE(test.plan()->limits.n_snapshots, 1);
  QVERIFY(test.plan()->estimate.verdict == FitVerdict::wont_fit);
}

void SnapshotMemoryTest::snapshots_follow_their_budget() {
  PlanCase test;
  const MemoryPlan plan = *test.plan();
  const std::int64_t slot_bytes = plan.state_bytes / test.options.max_num_seqs;
  test.options.state_snapshot_memory_bytes = 5 * slot_bytes + slot_bytes / 2;
  QCOMPARE(test.plan()->limits.n_snapshots, 5);
  QVERIFY(test.plan()->snapshot_bytes <= test.options.state_snapshot_memory_bytes);
  test.options.state_snapshot_memory_bytes = slot_bytes - 1;
  const auto refused = test.plan();
  QVERIFY(!refused.has_value() && refused.error().code == ErrorCode::invalid_argument);
  QCOMPARE(refused.error().where, std::string("state_snapshot_memory_bytes"));
  QVERIFY2(contains(refused.error().message, "one snapshot of the recurrent states takes " + std::to_string(slot_bytes)),
           refused.error().message.c_str());
  test.options.enable_prefix_caching = false;
  QVERIFY(test.plan().has_value());
}

void SnapshotMemoryTest::what_shares_no_prefixes_has_no_snapshots() {
  PlanCase test;
  test.options.enable_prefix_caching = false;
  QCOMPARE(test.plan()->limits.n_snapshots, 0);
  QVERIFY(test.plan()->warnings.empty());
  for (const PolicyDescriptor* const policy : policy_table()) {
    PlanCase other;
    other.options.policy = policy->name;
    QCOMPARE(other.plan()->limits.n_snapshots > 0, !policy->reserves_context);
  }
  PlanCase plain(tests::tiny_model_path());
  plain.options.state_snapshot_memory_bytes = 1 << 20;
  QCOMPARE(plain.plan()->limits.n_snapshots, 0);
  QCOMPARE(plain.plan()->estimate.snapshots, 0);
}

LATHE_TEST(SnapshotMemoryTest)

}  // namespace snapshot_memory_test
#include "snapshot_memory_test.moc"
