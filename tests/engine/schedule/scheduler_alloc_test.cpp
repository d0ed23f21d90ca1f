// SPDX-License-Identifier: Apache-2.0
// Planning and committing a step takes no memory, whatever happens in it.
#include <QObject>
#include <QtTest>

#include <cstdlib>
#include <deque>
#include <new>

#include "engine/schedule/scheduler.h"
#include "tests/support/test_class.h"

namespace {
thread_local std::int64_t n_allocations = 0;  // of the test; the watchdog of Qt Test has a thread of its own
}

void* operator new(std::size_t n) {
  ++n_allocations;
  if (void* memory = std::malloc(n)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace scheduler_alloc_test {

using namespace lathe::engine;

class SchedulerAllocTest : public QObject {
  Q_OBJECT
 private Q_SLOTS:
  void steps_allocate_nothing_data();
  void steps_allocate_nothing();
};

void SchedulerAllocTest::steps_allocate_nothing_data() {
  QTest::addColumn<int>("n_blocks");
  QTest::addColumn<QString>("policy");
  QTest::addColumn<int>("window");
  QTest::newRow("preemption") << 24 << "paged" << 0;
  QTest::newRow("preemption, with recurrent states") << 24 << "recurrent" << 0;
  QTest::newRow("preemption, some layers with a window") << 24 << "paged" << 9;
  QTest::newRow("room for all, some layers with a window") << 256 << "paged" << 9;
  for (const PolicyDescriptor* policy : policy_table()) {
    const QString name = QString::fromUtf8(policy->name.data(), static_cast<qsizetype>(policy->name.size()));
    QTest::newRow(qPrintable("room for all, " + name)) << 256 << name << 0;
  }
}

void SchedulerAllocTest::steps_allocate_nothing() {
  QFETCH(int, n_blocks);
  QFETCH(QString, policy);
  QFETCH(int, window);
  const bool has_states = policy == "recurrent";
  if (has_states) policy = "paged";
  std::vector<WindowPool> windows;
  if (window > 0) windows = {{.window = window, .n_blocks = static_cast<int>(8 * peak_blocks(100, window, 32, 4))}};
  Scheduler scheduler({.max_num_seqs = 8, .max_num_batched_tokens = 32, .max_logit_rows = 8, .max_seq_tokens = 100},
                      *find_policy(policy.toStdString()),
                      PagedCache(n_blocks, 4, true, 0, windows, has_states ? 8 : 0, has_states ? 5 : 0));
  std::deque<Sequence> sequences(8);
  for (Sequence& sequence : sequences) {
    sequence.id = static_cast<std::uint64_t>(&sequence - &sequences.front()) + 1;
    sequence.tokens.assign(12, static_cast<std::int32_t>(sequence.id % 4));
    sequence.tokens.reserve(100);
    sequence.table.blocks.reserve(30);
    sequence.table.windows.resize(windows.size());
    for (BlockRow& row : sequence.table.windows) row.blocks.reserve(30);
    sequence.n_prompt = 12;
    scheduler.add(sequence, 0);
  }
  std::int64_t n_worst = 0;
  for (int step = 0; step < 60; ++step) {
    if (step == 40) scheduler.remove(sequences[3]);  // of a batch of requests the rest goes on with padding
    const std::int64_t before = n_allocations;
    StepPlan& plan = scheduler.plan(0);
    for (const PlannedSequence& entry : plan.entries) {
      scheduler.commit(entry);
      if (entry.samples) entry.sequence->tokens.push_back(1);
    }
    n_worst = std::max(n_worst, n_allocations - before);
    scheduler.clear_events();
  }
  QCOMPARE(n_worst, 0);
  QCOMPARE(scheduler.counters().n_preemptions > 0, n_blocks == 24);
}

LATHE_TEST(SchedulerAllocTest)

}  // namespace scheduler_alloc_test
#include "scheduler_alloc_test.moc"
