// SPDX-License-Identifier: Apache-2.0
// Random traffic against the scheduler alone, with every invariant checked after every step.
#include <QObject>
#include <QtTest>

#include <algorithm>
#include <memory>
#include <random>

#include "engine/schedule/scheduler.h"
#include "engine/schedule/scheduler_invariant.h"
#include "tests/support/test_class.h"

namespace scheduler_storm_test {

using namespace lathe::engine;

namespace {

struct Traffic {
  int max_num_seqs = 8;
  int budget = 32;
  int n_blocks = 40;
  int block_size = 4;
  bool share = true;
  int cancels_of_100 = 0;  ///< chance a step that somebody is cancelled
  int n_requests = 600;
  int n_alphabet = 3;  ///< few tokens: many equal prefixes
  int n_longest = 0;   ///< tokens of the longest request; 0: all blocks
  std::string_view policy = "paged";
  int window = 0;           ///< behind which blocks are given back
  int narrow = 0;           ///< the same of some layers, which see less than the others; 0: there are none
  int narrow_room = 0;      ///< their blocks; 0: what all that run may hold
  bool has_states = false;  ///< some layers are recurrent
  int n_snapshots = 0;      ///< of their states

  std::vector<WindowPool> windows() const {
    if (narrow == 0) return {};
    const std::int64_t n_most = max_num_seqs * peak_blocks(n_max(), narrow, budget, block_size);
    return {{.window = narrow, .n_blocks = narrow_room > 0 ? narrow_room : static_cast<int>(n_most)}};
  }
  int n_max() const { return n_longest > 0 ? n_longest : n_blocks * block_size; }
};

struct Totals {
  int n_finished = 0, n_cancelled = 0, n_steps = 0;
  std::uint64_t n_preemptions = 0, n_hits = 0;
  bool consistent = true, oldest_kept_its_place = true;
  int n_available_at_end = 0, n_blocks = 0;
  int n_slots_at_end = 0;  ///< of states
  StateSnapshotCounters snapshots{};
};

/// A request with the length that its answer will have.
struct Request : Sequence {
  int n_total = 0;
};

class Storm {
 public:
  Storm(const Traffic& traffic, std::uint64_t seed)
      : traffic_(traffic),
        random_(seed),
        scheduler_({.max_num_seqs = traffic.max_num_seqs,
                    .max_num_batched_tokens = traffic.budget,
                    .max_logit_rows = traffic.max_num_seqs,
                    .max_seq_tokens = traffic.n_max(),
                    .max_batch_delay_ns = 5},
                   *find_policy(traffic.policy),
                   PagedCache(traffic.n_blocks, traffic.block_size, traffic.share, traffic.window, traffic.windows(),
                              traffic.has_states ? traffic.max_num_seqs : 0, traffic.n_snapshots)) {}

  Totals run() {
    while (n_submitted_ < traffic_.n_requests || scheduler_.has_work()) {
      for (int n = draw(0, 3); n > 0 && n_submitted_ < traffic_.n_requests; --n) submit();
      if (draw(0, 99) < traffic_.cancels_of_100) cancel_one();
      step();
    }
    totals_.n_preemptions = scheduler_.counters().n_preemptions;
    totals_.n_hits = scheduler_.counters().n_prefix_hits;
    totals_.n_available_at_end = scheduler_.cache().pool().n_available();
    totals_.n_blocks = scheduler_.cache().pool().n_blocks();
    for (const WindowGroup& group : scheduler_.cache().windows()) {
      totals_.consistent = totals_.consistent && group.pool().n_used() == 0;
    }
    if (const auto& snapshots = scheduler_.cache().snapshots()) totals_.snapshots = snapshots->counters();
    totals_.n_slots_at_end = scheduler_.cache().state_slots().n_used();
    return totals_;
  }

 private:
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  void submit() {
    auto request = std::make_unique<Request>();
    request->id = static_cast<std::uint64_t>(++n_submitted_);
    const int n_max = traffic_.n_max();
    request->arrived_ns = totals_.n_steps;
    request->n_prompt = draw(1, n_max / 2);
    request->n_total = draw(request->n_prompt + 1, n_max);
    for (int i = 0; i < request->n_prompt; ++i) request->tokens.push_back(draw(1, traffic_.n_alphabet) == 1 ? 1 : 0);
    scheduler_.add(*request, totals_.n_steps);
    living_.push_back(std::move(request));
  }

  void cancel_one() {
    if (living_.empty()) return;
    const auto victim = living_.begin() + draw(0, static_cast<int>(living_.size()) - 1);
    scheduler_.remove(**victim);
    living_.erase(victim);
    ++totals_.n_cancelled;
  }

  void step() {
    const Sequence* oldest = scheduler_.running().empty() ? nullptr : scheduler_.running().front();
    StepPlan& plan = scheduler_.plan(totals_.n_steps);  // a step is a nanosecond
    scheduler_.clear_events();
    // In a batch of requests the oldest waits until the last prompt is read.
    const bool in_lockstep = !scheduler_.batch().is_empty();
    if (oldest != nullptr && !in_lockstep && plan.entries.front().sequence != oldest) totals_.oldest_kept_its_place = false;
    for (const PlannedSequence& entry : plan.entries) {
      scheduler_.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(draw(0, traffic_.n_alphabet - 1));
    }
    std::erase_if(living_, [this](const std::unique_ptr<Request>& request) {
      if (request->n_tokens() < request->n_total) return false;
      scheduler_.remove(*request);
      ++totals_.n_finished;
      return true;
    });
    totals_.consistent = totals_.consistent && is_consistent(scheduler_);
    ++totals_.n_steps;
  }

  Traffic traffic_;
  std::mt19937_64 random_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Request>> living_;
  Totals totals_;
  int n_submitted_ = 0;
};

void verify(const Totals& totals, const Traffic& traffic) {
  QVERIFY(totals.consistent);
  QVERIFY2(totals.oldest_kept_its_place, "the oldest running sequence was not in a step");
  QCOMPARE(totals.n_finished + totals.n_cancelled, traffic.n_requests);
  QCOMPARE(totals.n_available_at_end, totals.n_blocks);
  QCOMPARE(totals.n_slots_at_end, 0);
}

}  // namespace

class SchedulerStormTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void E1_a_pool_for_little_more_than_one_request_serves_them_all();
  void E2_cancel_storm();
  void E2_preempt_storm();
  void E2_cancel_and_preempt_storm_with_shared_prefixes_data();
  void E2_cancel_and_preempt_storm_with_shared_prefixes();
  void every_policy_weathers_a_cancel_storm_data();
  void every_policy_weathers_a_cancel_storm();
  void sequences_longer_than_the_pool_pass_through_a_window_data();
  void sequences_longer_than_the_pool_pass_through_a_window();
  void layers_with_a_window_go_along_with_those_that_see_all_data();
  void layers_with_a_window_go_along_with_those_that_see_all();
  void slots_of_states_come_back_from_cancels_and_preemptions_data();
  void slots_of_states_come_back_from_cancels_and_preemptions();
  void snapshots_of_states_survive_cancels_and_preemptions_data();
  void snapshots_of_states_survive_cancels_and_preemptions();
  void blocks_of_one_token_hold_together();
  void a_budget_of_one_token_for_each_sequence_is_enough();
};

void SchedulerStormTest::E1_a_pool_for_little_more_than_one_request_serves_them_all() {
  const Traffic traffic{.max_num_seqs = 64, .budget = 64, .n_blocks = 11, .n_requests = 64};
  const Totals totals = Storm(traffic, 1).run();
  verify(totals, traffic);
  QCOMPARE(totals.n_finished, 64);
}

void SchedulerStormTest::E2_cancel_storm() {
  const Traffic traffic{.n_blocks = 400, .cancels_of_100 = 95, .n_requests = 3000};
  const Totals totals = Storm(traffic, 2).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_cancelled >= 1000, qPrintable(QString::number(totals.n_cancelled)));
}

void SchedulerStormTest::E2_preempt_storm() {
  const Traffic traffic{.max_num_seqs = 16, .n_blocks = 24, .share = false};
  const Totals totals = Storm(traffic, 3).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_preemptions > 100, qPrintable(QString::number(totals.n_preemptions)));
}

void SchedulerStormTest::E2_cancel_and_preempt_storm_with_shared_prefixes_data() {
  QTest::addColumn<int>("seed");
  for (int seed = 0; seed < 8; ++seed) QTest::addRow("seed %d", seed) << seed;
}

void SchedulerStormTest::E2_cancel_and_preempt_storm_with_shared_prefixes() {
  QFETCH(int, seed);
  const Traffic traffic{.max_num_seqs = 12, .n_blocks = 30, .cancels_of_100 = 20, .n_alphabet = 1};
  const Totals totals = Storm(traffic, static_cast<std::uint64_t>(100 + seed)).run();
  verify(totals, traffic);
  QVERIFY(totals.n_preemptions > 0);
  QVERIFY(totals.n_hits > 0);
  QVERIFY(totals.n_cancelled > 0);
}

void SchedulerStormTest::every_policy_weathers_a_cancel_storm_data() {
  QTest::addColumn<QByteArray>("policy");
  QTest::addColumn<int>("budget");
  for (const PolicyDescriptor* policy : policy_table()) {
    const QByteArray name(policy->name.data(), static_cast<qsizetype>(policy->name.size()));
    for (const int budget : {8, 32, 512}) QTest::addRow("%s, steps of %d", name.constData(), budget) << name << budget;
  }
}

void SchedulerStormTest::every_policy_weathers_a_cancel_storm() {
  QFETCH(QByteArray, policy);
  QFETCH(int, budget);
  const Traffic traffic{.budget = budget,
                        .n_blocks = 53,
                        .cancels_of_100 = 30,
                        .n_longest = 40,
                        .policy = {policy.constData(), static_cast<std::size_t>(policy.size())}};
  const Totals totals = Storm(traffic, 7).run();
  verify(totals, traffic);
  QVERIFY(totals.n_cancelled > 0 && totals.n_finished > 0);
}

void SchedulerStormTest::sequences_longer_than_the_pool_pass_through_a_window_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<bool>("share");
  for (const int window : {1, 10, 37}) {
    QTest::addRow("window %d", window) << window << false;
    QTest::addRow("window %d, shared", window) << window << true;
  }
}

void SchedulerStormTest::sequences_longer_than_the_pool_pass_through_a_window() {
  QFETCH(int, window);
  QFETCH(bool, share);
  const Traffic traffic{.budget = 16,
                        .n_blocks = 20,
                        .share = share,
                        .cancels_of_100 = 2,  // long sequences take many steps
                        .n_requests = 200,
                        .n_alphabet = 1,
                        .n_longest = 160,
                        .window = window};
  const Totals totals = Storm(traffic, 11).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_finished > 50, qPrintable(QString::number(totals.n_finished)));
  QCOMPARE(totals.n_hits > 0, share);
}

void SchedulerStormTest::layers_with_a_window_go_along_with_those_that_see_all_data() {
  QTest::addColumn<int>("window");
  QTest::addColumn<int>("narrow");
  QTest::addColumn<int>("narrow_room");
  QTest::addColumn<bool>("share");
  for (const bool share : {false, true}) {
    const char* const how = share ? ", shared" : "";
    for (const int narrow : {1, 4, 10, 37}) {
      QTest::addRow("window %d beside all%s", narrow, how) << 0 << narrow << 0 << share;
      QTest::addRow("window %d beside all, as many blocks%s", narrow, how) << 0 << narrow << 40 << share;
    }
    QTest::addRow("window 6 beside 30%s", how) << 30 << 6 << 0 << share;
  }
}

/// The tightest that is allowed: never a block too few, whatever is preempted, cancelled and shared.
void SchedulerStormTest::layers_with_a_window_go_along_with_those_that_see_all() {
  QFETCH(int, window);
  QFETCH(int, narrow);
  QFETCH(int, narrow_room);
  QFETCH(bool, share);
  const Traffic traffic{.budget = 16,
                        .n_blocks = 40,
                        .share = share,
                        .cancels_of_100 = 5,
                        .n_alphabet = 1,
                        .window = window,
                        .narrow = narrow,
                        .narrow_room = narrow_room};
  const Totals totals = Storm(traffic, static_cast<std::uint64_t>(narrow)).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_finished > 50, qPrintable(QString::number(totals.n_finished)));
  QCOMPARE(totals.n_hits > 0, share);
  if (window == 0) QVERIFY(totals.n_preemptions > 0);
}

void SchedulerStormTest::slots_of_states_come_back_from_cancels_and_preemptions_data() {
  QTest::addColumn<QByteArray>("policy");
  for (const PolicyDescriptor* policy : policy_table()) {
    QTest::newRow(policy->name.data()) << QByteArray(policy->name.data(), static_cast<qsizetype>(policy->name.size()));
  }
}

void SchedulerStormTest::slots_of_states_come_back_from_cancels_and_preemptions() {
  QFETCH(QByteArray, policy);
  const std::string name = policy.toStdString();
  const Traffic traffic{.max_num_seqs = 12,
                        .n_blocks = 12,
                        .share = false,
                        .cancels_of_100 = 95,
                        .n_requests = 3000,
                        .n_longest = 20,
                        .policy = name,
                        .has_states = true};
  const Totals totals = Storm(traffic, 77).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_cancelled >= 1000, qPrintable(QString::number(totals.n_cancelled)));
  QCOMPARE(totals.n_preemptions > 0, name == "paged");  // the others reserve the context
}

void SchedulerStormTest::snapshots_of_states_survive_cancels_and_preemptions_data() {
  QTest::addColumn<int>("n_snapshots");
  QTest::addColumn<int>("narrow");
  for (const int n_snapshots : {1, 3, 12, 100}) {
    for (const int narrow : {0, 5}) QTest::addRow("%d snapshots, window %d", n_snapshots, narrow) << n_snapshots << narrow;
  }
}

/// Each step checks that no snapshot is in use after it, that each belongs to a block, and that slots are those of tables.
void SchedulerStormTest::snapshots_of_states_survive_cancels_and_preemptions() {
  QFETCH(int, n_snapshots);
  QFETCH(int, narrow);
  const Traffic traffic{.max_num_seqs = 12,
                        .n_blocks = 60,
                        .cancels_of_100 = 40,
                        .n_requests = 3000,
                        .n_alphabet = 1,
                        .n_longest = 200,
                        .narrow = narrow,
                        .has_states = true,
                        .n_snapshots = n_snapshots};
  const Totals totals = Storm(traffic, static_cast<std::uint64_t>(500 + n_snapshots)).run();
  verify(totals, traffic);
  QVERIFY2(totals.n_cancelled + static_cast<int>(totals.n_preemptions) >= 1000,
           qPrintable(QString("%1 cancels, %2 preemptions").arg(totals.n_cancelled).arg(totals.n_preemptions)));
  QVERIFY(totals.n_preemptions > 0 && totals.n_hits > 0);
  QVERIFY(totals.snapshots.n_taken > 0 && totals.snapshots.n_hits > 0 && totals.snapshots.n_evicted > 0);
}

void SchedulerStormTest::blocks_of_one_token_hold_together() {
  const Traffic traffic{.n_blocks = 50, .block_size = 1, .cancels_of_100 = 10, .n_requests = 200};
  verify(Storm(traffic, 5).run(), traffic);
}

void SchedulerStormTest::a_budget_of_one_token_for_each_sequence_is_enough() {
  const Traffic traffic{.max_num_seqs = 4, .budget = 4, .n_requests = 60};
  verify(Storm(traffic, 6).run(), traffic);
}

LATHE_TEST(SchedulerStormTest)

}  // namespace scheduler_storm_test
#include "scheduler_storm_test.moc"
