// SPDX-License-Identifier: Apache-2.0
#include "kernels/threads/thread_pool.h"

#include <sys/wait.h>
#include <unistd.h>

#include <QTest>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <latch>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/support/few_threads.h"
#include "tests/support/test_class.h"

namespace thread_pool_test {

using lathe::kernels::ThreadPool;

namespace {

/// Threads of this process.
std::size_t n_threads() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

/// True when the body ends its process by abort().
template <class Body>
bool aborts(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    std::freopen("/dev/null", "w", stderr);
    std::signal(SIGABRT, SIG_DFL);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

}  // namespace

class ThreadPoolTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void every_index_is_visited_once() {
    for (const int n_threads : {1, 2, 3, 8}) {
      ThreadPool pool(n_threads);
      for (const std::int64_t n : {0, 1, 2, 7, 64, 1000}) {
        for (const std::int64_t grain : {1, 3, 64, 5000}) {
          std::vector<std::atomic<int>> visits(static_cast<std::size_t>(n));
          pool.run(n, grain, [&](std::int64_t begin, std::int64_t end, int) {
            for (; begin < end; ++begin) visits[static_cast<std::size_t>(begin)].fetch_add(1);
          });
          for (const auto& count : visits) QCOMPARE(count.load(), 1);
        }
      }
    }
  }

  void chunks_are_at_most_the_grain() {
    ThreadPool pool(3);
    std::atomic<bool> too_long{false};
    pool.run(1000, 7, [&](std::int64_t begin, std::int64_t end, int) {
      if (end - begin > 7 || begin % 7 != 0) too_long = true;
    });
    QVERIFY(!too_long);
  }

  void a_grain_below_1_counts_as_1() {
    ThreadPool pool(2);
    std::atomic<int> calls{0};
    pool.run(5, 0, [&](std::int64_t, std::int64_t, int) { ++calls; });
    QCOMPARE(calls.load(), 5);
  }

  void all_threads_can_work_at_once() {
    ThreadPool pool(4);
    std::latch all_here(4);  // passes only when four bodies run at the same time
    std::atomic<unsigned> seen{0};
    pool.run(4, 1, [&](std::int64_t, std::int64_t, int thread) {
      seen.fetch_or(1U << thread);
      all_here.arrive_and_wait();
    });
    QCOMPARE(seen.load(), 15U);
  }

  void the_caller_is_thread_0() {
    ThreadPool pool(1);
    const auto caller = std::this_thread::get_id();
    bool is_caller = false;
    pool.run(1, 1, [&](std::int64_t, std::int64_t, int thread) {
      is_caller = thread == 0 && std::this_thread::get_id() == caller;
    });
    QVERIFY(is_caller);
  }

  void a_single_chunk_stays_on_the_caller() {
    ThreadPool pool(4);
    std::thread::id ran_on;
    pool.run(100, 100, [&](std::int64_t, std::int64_t, int) { ran_on = std::this_thread::get_id(); });
    QCOMPARE(ran_on, std::this_thread::get_id());
  }

  void what_bodies_write_can_be_read_afterwards() {
    ThreadPool pool(4);
    std::vector<int> squares(4096);
    for (int round = 1; round <= 200; ++round) {
      pool.run(4096, 64, [&](std::int64_t begin, std::int64_t end, int) {
        for (; begin < end; ++begin) squares[static_cast<std::size_t>(begin)] += round;
      });
    }
    for (const int sum : squares) QCOMPARE(sum, 200 * 201 / 2);
  }

  void many_small_jobs_follow_each_other() {
    ThreadPool pool(3);
    std::atomic<std::int64_t> sum{0};
    for (int job = 0; job < 20000; ++job) {
      pool.run(4, 1, [&](std::int64_t begin, std::int64_t, int) { sum.fetch_add(begin, std::memory_order_relaxed); });
    }
    QCOMPARE(sum.load(), std::int64_t{20000 * 6});
  }

  void sleeping_workers_wake_for_the_next_job() {
    ThreadPool pool(2);
    std::atomic<int> n_arrived{0};
    for (int round = 0; round < 3; ++round) {
      std::latch both(2);
      pool.run(2, 1, [&](std::int64_t, std::int64_t, int) {
        both.arrive_and_wait();
        ++n_arrived;
      });
      // Longer than the workers spin, so that they are asleep for the next round.
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    QCOMPARE(n_arrived.load(), 3 * 2);
  }

  void more_threads_than_cores_finish() {
    ThreadPool pool(64);
    std::atomic<int> sum{0};
    for (int job = 0; job < 50; ++job) pool.run(256, 1, [&](std::int64_t, std::int64_t, int) { ++sum; });
    QCOMPARE(sum.load(), 50 * 256);
  }

  void threads_that_cannot_be_had_are_an_error() {
    if (!std::string(LATHE_SANITIZERS).empty()) QSKIP("skipped: the sanitizers need the address space");
    bool refused = false;
    {
      const lathe::tests::FewThreads few(3);
      try {
        ThreadPool pool(64);
      } catch (const std::system_error&) {
        refused = true;  // and those that had started have ended
      }
    }
    QVERIFY(refused);
  }

  void several_pools_do_not_disturb_each_other() {
    std::atomic<int> sum{0};
    std::vector<std::jthread> owners;
    for (int owner = 0; owner < 3; ++owner) {
      owners.emplace_back([&] {
        ThreadPool pool(2);
        for (int job = 0; job < 500; ++job) pool.run(8, 1, [&](std::int64_t, std::int64_t, int) { ++sum; });
      });
    }
    owners.clear();
    QCOMPARE(sum.load(), 3 * 500 * 8);
  }

  void an_idle_pool_can_be_destroyed() {
    for (int i = 0; i < 50; ++i) {
      const std::size_t n_before = n_threads();
      {
        ThreadPool pool(4);
      }
      QTRY_VERIFY(n_threads() <= n_before);  // the system counts a joined thread for a moment longer
    }
  }

  void nested_use_is_refused() {
    QVERIFY(aborts([] {
      ThreadPool pool(1);
      pool.run(1, 1, [&](std::int64_t, std::int64_t, int) { pool.run(1, 1, [](std::int64_t, std::int64_t, int) {}); });
    }));
  }

  void a_machine_has_at_least_one_core() { QVERIFY(lathe::kernels::n_physical_cores() >= 1); }
};

LATHE_TEST(ThreadPoolTest)

}  // namespace thread_pool_test
#include "thread_pool_test.moc"
