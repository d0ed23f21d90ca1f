// SPDX-License-Identifier: Apache-2.0
// When requests of a run are sent, and what ends one early.
#include "app/bench/sweep/load/load_generator.h"

#include <QTest>
#include <map>
#include <thread>

#include "tests/support/test_class.h"

namespace load_generator_test {

using namespace lathe;
using namespace lathe::app;

namespace {

/// Answers each request with one token, `delay` seconds after it was sent.
class FixedDelaySink final : public LoadSink {
 public:
  FixedDelaySink(RunClock::time_point start, double delay) : start_(start), delay_(delay) {}

  engine::Result<void> send(std::size_t index, const PlannedRequest&, SentRequest& record) override {
    under_way_[index] = {&record, now()};
    ++n_sent;
    return {};
  }

  engine::Result<std::vector<std::size_t>> take_news(std::chrono::duration<double> at_most) override {
    std::this_thread::sleep_for(std::min(at_most, std::chrono::duration<double>(0.002)));
    std::vector<std::size_t> ended;
    std::erase_if(under_way_, [&](const auto& entry) {
      if (now() < entry.second.sent + delay_) return false;
      entry.second.record->token_times = {now()};
      entry.second.record->end = now();
      ended.push_back(entry.first);
      return true;
    });
    return ended;
  }

  std::size_t n_sent = 0;

 private:
  struct Flight {
    SentRequest* record = nullptr;
    double sent = 0;
  };
  double now() const { return std::chrono::duration<double>(RunClock::now() - start_).count(); }

  const RunClock::time_point start_;
  const double delay_;
  std::map<std::size_t, Flight> under_way_;
};

std::vector<PlannedRequest> arrivals(std::size_t n, double gap) {
  std::vector<PlannedRequest> planned(n);
  for (std::size_t i = 0; i < n; ++i) planned[i].scheduled = gap * static_cast<double>(i);
  return planned;
}

engine::Result<RunRecord> ran(const SweepWorkload& work, const std::vector<PlannedRequest>& planned, double delay) {
  const RunClock::time_point start = RunClock::now();
  FixedDelaySink sink(start, delay);
  auto record = run_load(sink, work, planned, start, [] { return true; });
  if (record && record->requests.size() != sink.n_sent) return engine::fail(engine::ErrorCode::internal, "sent and kept");
  return record;
}

}  // namespace

class LoadGeneratorTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void without_a_rule_everything_is_sent() {
    for (const char* load : {"concurrency", "constant"}) {
      const auto run = ran({.load = load, .concurrency = 2}, arrivals(6, 0.001), 0.004);
      QVERIFY(run.has_value());
      QCOMPARE(run->requests.size(), std::size_t{6});
      QVERIFY(run->answers_compare);
    }
  }

  /// Requests on their way are finished. Answers to a part of the plan are not compared with answers to the whole plan.
  void seconds_end_a_run() {
    for (const char* load : {"concurrency", "constant"}) {
      const auto run = ran({.load = load, .concurrency = 2, .max_seconds = 0.1}, arrivals(100'000, 0.01), 0.02);
      QVERIFY(run.has_value());
      QVERIFY(!run->requests.empty() && run->requests.size() < 100);
      for (const SentRequest& request : run->requests) QVERIFY(request.scheduled < 0.1 && request.end > request.scheduled);
      QVERIFY(!run->answers_compare);
    }
  }

  void a_run_that_ends_before_its_first_request_says_so() {
    std::vector<PlannedRequest> late = arrivals(1, 0);
    late.front().scheduled = 60;
    const auto run = ran({.load = "constant", .max_seconds = 0.02}, late, 0.001);
    QVERIFY(!run.has_value());
    QCOMPARE(run.error().where, std::string("max_seconds"));
  }

  /// Requests come every millisecond and wait for a second: the sixth that waits ends it. A load that waits for its answers
  /// never has more of them than it asks for.
  void waiting_ends_an_open_run() {
    const auto run = ran({.load = "constant", .max_waiting = 5}, arrivals(1000, 0.001), 1);
    QVERIFY(run.has_value());
    QCOMPARE(run->requests.size(), std::size_t{6});
    QVERIFY(!run->answers_compare && run->too_many_waited);
    const auto at_once = ran({.load = "replay", .max_waiting = 5}, arrivals(1000, 0), 0.05);
    QCOMPARE(at_once->requests.size(), std::size_t{6});
    const auto fixed = ran({.load = "concurrency", .concurrency = 8, .max_waiting = 5}, arrivals(16, 0), 0.01);
    QCOMPARE(fixed->requests.size(), std::size_t{16});
    QVERIFY(!fixed->too_many_waited);
    const auto late = ran({.load = "constant", .max_seconds = 0.02, .max_waiting = 500}, arrivals(1000, 0.001), 0.05);
    QVERIFY(!late->too_many_waited);
  }

  void a_turn_is_not_sent_after_the_end() {
    std::vector<PlannedRequest> talk(2);
    talk[0].n_turns = talk[1].n_turns = 2;
    talk[1].turn = 1;
    talk[1].think_time = 60;
    const auto run = ran({.max_seconds = 0.1}, talk, 0.001);
    QVERIFY(run.has_value());
    QCOMPARE(run->requests.size(), std::size_t{1});
  }
};

LATHE_TEST(LoadGeneratorTest)

}  // namespace load_generator_test
#include "load_generator_test.moc"
