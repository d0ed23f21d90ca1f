// SPDX-License-Identifier: Apache-2.0
// Pools of one process are pinned to different cores, or not at all.
#include "kernels/threads/pinning.h"

#include <pthread.h>

#include <QTest>
#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "kernels/threads/thread_pool.h"
#include "tests/support/test_class.h"

namespace pinning_test {

using namespace lathe::kernels;

namespace {

using Cpus = std::vector<int>;

bool has_repeats(Cpus cpus) {
  std::sort(cpus.begin(), cpus.end());
  return std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end();
}

void pin_self(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/// A job of several threads.
void run_job(ThreadPool& pool) {
  pool.run(8, 1, [](std::int64_t, std::int64_t, int) {});
}

/// Threads that wait until they are destroyed.
class WaitingThreads {
 public:
  explicit WaitingThreads(int n) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([this] { end_.wait(); });
  }
  ~WaitingThreads() { end_.count_down(); }
  std::span<std::jthread> all() { return threads_; }

 private:
  std::latch end_{1};
  std::vector<std::jthread> threads_;
};

}  // namespace

class PinningTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_first_pool_leaves_a_core_to_its_caller() {
    QCOMPARE(worker_cores(4, Cpus{0, 2, 4, 6}, Cpus{}), (Cpus{2, 4, 6}));
    QCOMPARE(worker_cores(3, Cpus{0, 2, 4, 6}, Cpus{}), (Cpus{2, 4}));
  }

  void the_next_pool_gets_other_cores() {
    const Cpus cores{0, 1, 2, 3, 4, 5, 6, 7};
    Cpus pinned;
    for (int pool = 0; pool < 2; ++pool) {
      const Cpus workers = worker_cores(4, cores, pinned);
      QCOMPARE(workers.size(), std::size_t{3});
      pinned.insert(pinned.end(), workers.begin(), workers.end());
    }
    QCOMPARE(pinned, (Cpus{1, 2, 3, 4, 5, 6}));
    QVERIFY(worker_cores(4, cores, pinned).empty());
    QCOMPARE(worker_cores(2, cores, pinned), (Cpus{7}));
  }

  /// With one thread for each core, which is the default, the second pool is not pinned.
  void a_pool_without_cores_of_its_own_is_not_pinned() {
    const Cpus cores{0, 1, 2, 3}, first = worker_cores(4, cores, Cpus{});
    QCOMPARE(first, (Cpus{1, 2, 3}));
    QVERIFY(worker_cores(4, cores, first).empty());
    QVERIFY(worker_cores(2, cores, first).empty());
  }

  void small_machines_and_pools_without_workers_pin_nothing() {
    QVERIFY(worker_cores(3, Cpus{0, 1, 2}, Cpus{}).empty());
    QVERIFY(worker_cores(1, Cpus{0, 1, 2, 3}, Cpus{}).empty());
    QVERIFY(worker_cores(5, Cpus{0, 1, 2, 3}, Cpus{}).empty());
  }

  void the_system_tells_which_threads_are_pinned() {
    const auto before = pinned_cpus();
    QVERIFY(before.has_value());
    const int cpu = allowed_cpus().back();
    {
      std::latch is_pinned{1}, may_end{1};
      std::jthread thread([&] {
        pin_self(cpu);
        is_pinned.count_down();
        may_end.wait();
      });
      is_pinned.wait();
      const auto during = pinned_cpus();
      may_end.count_down();
      QVERIFY(during.has_value());
      const std::ptrdiff_t expected = allowed_cpus().size() > 1 ? 1 : 0;
      QCOMPARE(std::count(during->begin(), during->end(), cpu), std::count(before->begin(), before->end(), cpu) + expected);
    }
    QTRY_COMPARE(*pinned_cpus(), *before);  // the system lists a joined thread for a moment longer
  }

  /// An estimate of memory makes a backend without a job: it takes no core from the pool of an engine.
  void a_pool_without_a_job_is_not_pinned() {
    const auto before = pinned_cpus();
    QVERIFY(before.has_value());
    ThreadPool idle(3), busy(3);
    idle.run(1, 1, [](std::int64_t, std::int64_t, int) {});  // on the caller alone
    QCOMPARE(pinned_cpus()->size(), before->size());
    run_job(busy);
    QCOMPARE(pinned_cpus()->size(), before->size() + (physical_cores().size() < 4 ? 0U : 2U));
  }

  /// A machine with at least four cores pins the first pool; no machine pins two threads to one core.
  void pools_share_no_core() {
    const Cpus cores = physical_cores();
    QTRY_VERIFY(pinned_cpus() && pinned_cpus()->empty());
    ThreadPool first(3), second(3), third(static_cast<int>(cores.size()));
    run_job(first);
    QCOMPARE(pinned_cpus()->size(), cores.size() < 4 ? std::size_t{0} : std::size_t{2});
    run_job(second);
    run_job(third);
    QVERIFY(!has_repeats(*pinned_cpus()));
  }

  void pools_that_begin_together_share_no_core() {
    for (int round = 0; round < 20; ++round) {
      WaitingThreads one(3), other(3);
      std::jthread rival([&] { pin_workers(other.all()); });
      pin_workers(one.all());
      rival.join();
      QVERIFY(!has_repeats(*pinned_cpus()));
    }
  }
};

LATHE_TEST(PinningTest)

}  // namespace pinning_test
#include "pinning_test.moc"
