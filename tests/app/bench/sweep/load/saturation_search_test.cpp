// SPDX-License-Identifier: Apache-2.0
// The search of the highest rate, on an engine of a known capacity that takes no time.
#include "app/bench/sweep/load/saturation_search.h"

#include <QTest>
#include <algorithm>
#include <cmath>

#include "tests/support/test_class.h"

namespace saturation_search_test {

using namespace lathe;
using namespace lathe::app;
using engine::ErrorCode;

namespace {

/// Serves one request at a time of `places`, each for `seconds`; arrivals come at equal distances, so that what holds is
/// known: up to places / seconds, and by kCompletedShare a little more.
struct KnownEngine {
  double seconds = 0.5;
  std::size_t places = 4;
  std::size_t queue = 10'000;  ///< requests that may wait: one more is refused
  std::vector<SweepWorkload> trials{};
  std::vector<std::string> words{};

  double capacity() const { return static_cast<double>(places) / seconds; }

  engine::Result<RunRecord> run(const SweepWorkload& work, const std::string& doing) {
    trials.push_back(work);
    words.push_back(doing);
    RunRecord record;
    std::vector<double> free(places, 0);  // when each place is
    for (std::int64_t i = 0; i < work.requests; ++i) {
      const bool waits_for_the_last = work.pattern() == LoadPattern::concurrency;
      const double last = record.requests.empty() ? 0 : record.requests.back().end;
      const double at = waits_for_the_last ? last : static_cast<double>(i) / work.rate;
      if (work.max_seconds > 0 && at >= work.max_seconds) break;
      const auto n_waiting =
          static_cast<std::size_t>(std::count_if(record.requests.begin(), record.requests.end(),
                                                 [&](const SentRequest& sent) { return sent.token_times.front() > at; }));
      if (n_waiting > queue) return engine::fail(ErrorCode::resource_exhausted, "the queue is full", "queue");
      if (work.max_waiting > 0 && static_cast<std::int64_t>(n_waiting) > work.max_waiting) {
        record.too_many_waited = true;
        break;
      }
      const auto place = std::min_element(free.begin(), free.end());
      SentRequest& request = record.requests.emplace_back();
      request.scheduled = at;
      request.end = std::max(at, *place) + seconds;
      request.token_times = {request.end - 0.8 * seconds, request.end};  // TTFT 0.2 of it where none waits
      request.usage.n_completion_tokens = 2;
      *place = request.end;
      record.seconds = std::max(record.seconds, request.end);
    }
    return record;
  }
};

SweepWorkload search_work() { return {.requests = 400, .load = "saturation", .max_seconds = 10'000}; }

engine::Result<RunRecord> searched(KnownEngine& engine, const SweepWorkload& work, const ServiceGoal& goal = {}) {
  return search_saturation(work, goal,
                           [&](const SweepWorkload& trial, const std::string& words) { return engine.run(trial, words); });
}

/// The rate above which requests are completed too slowly; trials stop at most kRatePrecision below.
bool is_just_below(double rate, double limit) { return rate <= 1.01 * limit && rate >= limit / (1.01 + kRatePrecision); }

}  // namespace

class SaturationSearchTest : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void the_capacity_is_found_within_the_precision_data() {
    QTest::addColumn<int>("places");
    QTest::addColumn<double>("seconds");
    QTest::addColumn<int>("requests");
    for (const int places : {1, 4, 7, 64}) {
      for (const double seconds : {0.003, 0.5, 2.7})
        QTest::addRow("%d of %g s", places, seconds) << places << seconds << 400;
    }
    // Requests that take longer than five seconds of them take to come, and a place for each of those.
    for (const int places : {16, 64, 256}) {
      for (const double seconds : {6.0, 12.0, 40.0})
        QTest::addRow("%d of %g s, as many as it takes", places, seconds) << places << seconds << 0;
    }
    QTest::addRow("16 of 6 s, few") << 16 << 6.0 << 10;
  }
  void the_capacity_is_found_within_the_precision() {
    QFETCH(int, places);
    QFETCH(double, seconds);
    QFETCH(int, requests);
    KnownEngine engine{.seconds = seconds, .places = static_cast<std::size_t>(places)};
    SweepWorkload work = search_work();
    work.requests = requests;
    const auto record = searched(engine, work);
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    // 64 places swallow the begin of 400 requests, which are then completed a little faster than they could for long.
    const double limit = engine.capacity() / kCompletedShare;
    QVERIFY2(is_just_below(record->max_rate, limit), qPrintable(QString::number(record->max_rate)));
    QVERIFY(record->trials.size() <= 20);
  }

  /// The record is that of the best rate, and what was tried is told in its order.
  void the_trials_are_told() {
    KnownEngine engine;
    const auto record = searched(engine, search_work());
    const std::vector<SweepTrial>& trials = record->trials;
    QCOMPARE(trials.size(), engine.trials.size());
    QCOMPARE(engine.words.front(), std::string("trying one request at a time"));
    QCOMPARE(engine.words[1], std::string("trying 2 req/s"));  // half a second each
    QCOMPARE(trials[0].rate, 0.0);
    double held = 0, failed = 1e9;
    for (std::size_t i = 1; i < trials.size(); ++i) {
      QCOMPARE(engine.trials[i].rate, trials[i].rate);
      QVERIFY(engine.trials[i].pattern() == LoadPattern::poisson);
      (trials[i].failure.empty() ? held : failed) = trials[i].rate;
      if (!trials[i].failure.empty()) QVERIFY(trials[i].failure.find("completed at") != std::string::npos);
    }
    QCOMPARE(record->max_rate, held);
    QVERIFY(failed > held && failed <= 1.1 * held);
    QCOMPARE(record->requests.size(), std::size_t{400});
    QVERIFY(std::abs(record->requests[1].scheduled - 1 / held) < 1e-9);
  }

  /// 8 req/s are served without end, and wait for nobody up to there: 20 % of 0.5 s. Above it the goal fails first.
  void a_goal_may_be_stricter_than_the_capacity() {
    KnownEngine engine;
    const auto record = searched(engine, search_work(), {.ttft_ms = 150});
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    QVERIFY2(is_just_below(record->max_rate, engine.capacity()), qPrintable(QString::number(record->max_rate)));
    for (const SweepTrial& trial : record->trials) {
      if (trial.failure.empty()) continue;
      QVERIFY2(trial.failure.find("of 400 requests missed the goal, TTFT ") != std::string::npos, trial.failure.c_str());
      QVERIFY(trial.goodput_req_s < trial.request_s);
    }
  }

  /// An ITL that no queue disturbs is no licence for a queue that grows for ever.
  void a_queue_may_not_grow_whatever_the_goal_is() {
    KnownEngine engine;
    const auto record = searched(engine, search_work(), {.itl_ms = 1000});
    QVERIFY(is_just_below(record->max_rate, engine.capacity() / kCompletedShare));
  }

  void a_goal_that_nothing_holds_is_told_after_one_trial() {
    KnownEngine engine;
    const auto record = searched(engine, search_work(), {.ttft_ms = 50});
    QVERIFY(!record.has_value());
    QCOMPARE(record.error().message,
             std::string("no rate holds: with one request at a time, 4 of 4 requests missed the goal, TTFT 100 ms at "
                         "p99 of 50"));
    QCOMPARE(engine.trials.size(), std::size_t{1});
  }

  /// One place, and requests that may hardly wait: arrivals at the rate of one at a time are too many already.
  void it_goes_down_where_even_the_first_rate_is_too_much() {
    KnownEngine engine{.places = 1};
    const auto slower = [&](const SweepWorkload& trial, const std::string& words) {
      engine.seconds = trial.pattern() == LoadPattern::concurrency ? 0.5 : 1.6;  // what others do not say of themselves
      return engine.run(trial, words);
    };
    const auto record = search_saturation(search_work(), {}, slower);
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    QVERIFY(is_just_below(record->max_rate, engine.capacity() / kCompletedShare));
    const auto never = [&](const SweepWorkload& trial, const std::string& words) {
      engine.seconds = trial.pattern() == LoadPattern::concurrency ? 0.5 : 1000;
      return engine.run(trial, words);
    };
    engine.trials.clear();
    const auto none = search_saturation(search_work(), {}, never);
    QVERIFY(
        none.error().message.starts_with("no rate holds: at 0.0625 req/s, the lowest rate that was tried, requests were"));
    QCOMPARE(engine.trials.size(), std::size_t{7});
  }

  /// Trials that are too fast are over early: 6 of 400 requests, no more.
  void waiting_ends_a_trial() {
    KnownEngine engine;
    SweepWorkload work = search_work();
    work.max_waiting = 5;
    const auto record = searched(engine, work);
    QVERIFY(is_just_below(record->max_rate, engine.capacity() / kCompletedShare));
    const auto lost = std::find_if(record->trials.begin(), record->trials.end(),
                                   [](const SweepTrial& trial) { return !trial.failure.empty(); });
    QCOMPARE(lost->failure, std::string("more than 5 requests waited for their first token"));
    QVERIFY(lost->requests < 100);
  }

  void a_server_that_refuses_has_not_held() {
    KnownEngine engine{.queue = 3};
    const auto record = searched(engine, search_work());
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    QVERIFY(is_just_below(record->max_rate, engine.capacity() / kCompletedShare));
    QVERIFY(std::any_of(record->trials.begin(), record->trials.end(),
                        [](const SweepTrial& trial) { return trial.failure == "the queue is full"; }));
  }

  /// An end that is asked for, and any other error, end the search.
  void other_errors_end_it() {
    int n_left = 3;
    KnownEngine engine;
    const auto record = search_saturation(
        search_work(), {}, [&](const SweepWorkload& trial, const std::string& words) -> engine::Result<RunRecord> {
          if (--n_left == 0) return engine::fail(ErrorCode::cancelled, "the run was stopped");
          return engine.run(trial, words);
        });
    QCOMPARE(record.error().code, ErrorCode::cancelled);
    QCOMPARE(n_left, 0);
  }

  void seconds_bound_each_trial() {
    KnownEngine engine;
    SweepWorkload work = search_work();
    work.max_seconds = 20;
    const auto record = searched(engine, work);
    QVERIFY(is_just_below(record->max_rate, engine.capacity() / kCompletedShare));
    for (const SweepTrial& trial : record->trials) QVERIFY(trial.requests <= 20 * std::max(2.0, trial.rate) + 1);
    work.max_seconds = 1.2;
    const auto few = searched(engine, work);
    QCOMPARE(few.error().where, std::string("max_seconds"));
    QCOMPARE(
        few.error().message,
        std::string("a limit of 1.2 s is too short to judge a rate: requests take 0.5 s at 6.67 req/s, so 2 s are needed"));
  }

  /// Requests of a minute: forty of them one at a time would come for forty minutes.
  void slow_requests_are_few() {
    KnownEngine engine{.seconds = 60, .places = 2};
    SweepWorkload work = search_work();
    work.requests = 0;
    work.max_seconds = 0;
    const auto record = searched(engine, work);
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    QCOMPARE(engine.trials[1].requests, std::int64_t{8});
    QVERIFY2(record->max_rate > 0.028 && record->max_rate < 0.04, qPrintable(QString::number(record->max_rate)));
  }

  void a_goal_is_kept_by_exactly_its_share() {
    for (const double seconds : {0.1, 0.7, 1.1, 3.3, 12.7}) QVERIFY(keeps_goal(38 / seconds, 40 / seconds));
    QVERIFY(!keeps_goal(37, 40));
  }

  /// Five seconds of a fast engine are more requests than forty; how many follows from the rate, so answers do not compare.
  void trials_are_long_enough_for_a_queue_to_show() {
    KnownEngine engine{.seconds = 0.5, .places = 64};
    SweepWorkload work = search_work();
    work.requests = 0;
    const auto record = searched(engine, work);
    QVERIFY2(record.has_value(), record ? "" : record.error().message.c_str());
    QVERIFY(record->max_rate > 100 && !record->answers_compare);
    QCOMPARE(engine.trials[1].requests, std::int64_t{40});  // at 2 req/s
    QCOMPARE(engine.trials[6].requests, std::int64_t{320});
    QCOMPARE(engine.trials[6].rate, 64.0);
    work.requests = 400;
    QVERIFY(searched(engine, work)->answers_compare);
  }

  /// An engine without limits holds the highest rate that can be set.
  void it_ends_where_nothing_is_too_much() {
    KnownEngine engine{.seconds = 1e-9, .places = 1};
    const auto record = searched(engine, search_work());
    QVERIFY(record.has_value());
    QVERIFY(record->trials.size() <= 20);
    QCOMPARE(record->max_rate, 100'000.0);
  }

  void trials_read_back_as_they_were_written() {
    KnownEngine engine{.queue = 3};
    const auto record = searched(engine, search_work());
    const std::string text = engine::dump_json(to_json(record->trials));
    const auto again = sweep_trials_from(engine::Json::parse(text));
    QVERIFY2(again.has_value(), again ? "" : again.error().message.c_str());
    QCOMPARE(engine::dump_json(to_json(*again)), text);
    QVERIFY(text.starts_with(R"([{"rate":null,"held":true,"requests":4,)"));
    for (const char* broken : {"{}", "[1]", R"([{"held": true}])", R"([{"held": false, "requests": 3}])"})
      QVERIFY2(!sweep_trials_from(engine::Json::parse(broken)).has_value(), broken);
  }
};

LATHE_TEST(SaturationSearchTest)

}  // namespace saturation_search_test
#include "saturation_search_test.moc"
