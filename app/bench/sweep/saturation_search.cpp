// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/saturation_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "app/api/sweep_metrics.h"
#include "app/api/sweep_report.h"

namespace lathe::app {
namespace {

using engine::Error;
using engine::ErrorCode;
using engine::Result;

constexpr std::size_t kMostTrials = 20;
constexpr std::int64_t kSynchronousRequests = 4;
constexpr double kTrialSeconds = 120;
constexpr double kUsualSeconds = 5;  // in which a queue shows that it grows, whatever the scheduler does meanwhile
constexpr std::int64_t kMostRequests = 4000;
constexpr double kGrowth = 2, kSlowestShare = 1.0 / 32;    // of the rate of one request at a time
constexpr double kLeastRate = 0.001, kMostRate = 100'000;  // that the setting takes

/// Three digits: a rate that can be said again.
double rounded(double rate) {
  const std::string text = fmt::format("{:.3g}", std::clamp(rate, kLeastRate, kMostRate));
  double value = rate;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double trial_seconds(const SweepWorkload& work) { return work.max_seconds > 0 ? work.max_seconds : kTrialSeconds; }

std::int64_t trial_requests(const SweepWorkload& work, double rate) {
  if (work.requests > 0) return work.requests;
  return std::clamp(static_cast<std::int64_t>(std::llround(kUsualSeconds * rate)), work.n_requests(), kMostRequests);
}

/// From the tenth of them to the nine tenths: neither the empty begin nor one late straggler counts.
double middle_span(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t out = times.size() / 10;
  return times[times.size() - 1 - out] - times[out];
}

/// How fast requests are completed beside how fast they come: 1 as long as the queue does not grow.
double completed_share(const RunRecord& run) {
  std::vector<double> came, ended;
  for (const SentRequest& request : run.requests) {
    came.push_back(request.scheduled);
    ended.push_back(request.end);
  }
  const double coming = middle_span(std::move(came)), ending = middle_span(std::move(ended));
  return ending > 0 ? coming / ending : 1;
}

bool is_overload(const Error& error) {
  return error.code == ErrorCode::resource_exhausted || error.code == ErrorCode::deadline_exceeded;
}

std::string limit_words(double limit) { return limit > 0 ? fmt::format(" of {:g}", limit) : std::string(); }

class SaturationSearch {
 public:
  SaturationSearch(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run)
      : workload_(workload), goal_(goal), run_(run) {}

  Result<RunRecord> run() {
    LATHE_TRY(double rate, synchronous_rate());
    const double slowest = rounded(rate * kSlowestShare);
    double held = 0, failed = std::numeric_limits<double>::infinity();
    while (trials_.size() < kMostTrials && failed > held * (1 + kRatePrecision)) {
      LATHE_TRY(const bool holds, try_rate(rate));
      (holds ? held : failed) = rate;
      if (held == 0 && rate <= slowest) break;
      if (held >= kMostRate) break;
      rate = held == 0            ? std::max(slowest, rounded(rate / kGrowth))
             : std::isinf(failed) ? rounded(rate * kGrowth)
                                  : rounded(std::sqrt(held * failed));
    }
    if (!best_) {
      return engine::fail(ErrorCode::unavailable,
                          fmt::format("no rate holds: at {:g} req/s, the slowest that was tried, {}", trials_.back().rate,
                                      trials_.back().failure),
                          "saturation");
    }
    best_->max_rate = held;
    best_->answers_compare = best_->answers_compare && workload_.requests > 0;  // else their number follows from the rate
    best_->trials = std::move(trials_);
    return std::move(*best_);
  }

 private:
  Result<double> synchronous_rate() {
    LATHE_TRY(const RunRecord record, run_(synchronous_trial(workload_), words_of_trial(0)));
    const SweepTrial& trial = note(0, record, missed_goal(record));
    if (trial.failure.empty()) return rounded(trial.request_s);
    return engine::fail(ErrorCode::unavailable, fmt::format("no rate holds: of requests one at a time {}", trial.failure),
                        "saturation");
  }

  Result<bool> try_rate(double rate) {
    SweepWorkload trial = workload_;
    trial.load = "poisson";
    trial.rate = rate;
    trial.requests = trial_requests(workload_, rate);
    trial.max_seconds = trial_seconds(workload_);
    Result<RunRecord> record = run_(trial, words_of_trial(rate));
    if (!record && is_overload(record.error())) {
      trials_.push_back({rate, record.error().message, 0, kUnseen, kUnseen, kUnseen, kUnseen});
      return false;
    }
    if (!record) return tl::unexpected(record.error());
    LATHE_TRY(std::string failure, judge(*record, trial));
    if (!note(rate, *record, std::move(failure)).failure.empty()) return false;
    best_ = std::move(*record);
    return true;
  }

  /// Empty: it holds.
  Result<std::string> judge(const RunRecord& record, const SweepWorkload& trial) const {
    if (record.too_many_waited) return fmt::format("more than {} requests waited for their first token", trial.max_waiting);
    if (static_cast<std::int64_t>(record.requests.size()) < kLeastTrialRequests) {
      return engine::fail(
          ErrorCode::invalid_argument,
          fmt::format("of {:g} s leaves {} requests at {:g} req/s, too few to judge a rate by: {} are needed",
                      trial.max_seconds, record.requests.size(), trial.rate, kLeastTrialRequests),
          "max_seconds");
    }
    std::string missed = missed_goal(record);
    const double share = completed_share(record);
    if (!missed.empty() || share >= kCompletedShare) return missed;
    return fmt::format("requests were completed at {:.0f} % of the rate at which they came", 100 * share);
  }

  std::string missed_goal(const RunRecord& record) const {
    const double all = value_of(record, "request_s"), good = value_of(record, "goodput_req_s");
    if (good >= kGoodShare * all) return {};
    const auto n = static_cast<double>(record.requests.size());
    return fmt::format("{:.0f} of {:.0f} requests missed the goal (p99: TTFT {:.4g}{} ms, ITL {:.4g}{} ms)",
                       n * (1 - good / all), n, value_of(record, "ttft_ms_p99"), limit_words(goal_.ttft_ms),
                       value_of(record, "itl_ms_p99"), limit_words(goal_.itl_ms));
  }

  double value_of(const RunRecord& record, std::string_view metric) const {
    return sweep_metrics()[metric_index(metric)].of(record, goal_);
  }

  const SweepTrial& note(double rate, const RunRecord& record, std::string failure) {
    return trials_.emplace_back(SweepTrial{.rate = rate,
                                           .failure = std::move(failure),
                                           .requests = static_cast<std::int64_t>(record.requests.size()),
                                           .request_s = value_of(record, "request_s"),
                                           .goodput_req_s = value_of(record, "goodput_req_s"),
                                           .ttft_ms_p99 = value_of(record, "ttft_ms_p99"),
                                           .itl_ms_p99 = value_of(record, "itl_ms_p99")});
  }

  const SweepWorkload& workload_;
  const ServiceGoal& goal_;
  const TrialRunner& run_;
  std::vector<SweepTrial> trials_;
  std::optional<RunRecord> best_;  ///< of the highest rate that held
};

}  // namespace

SweepWorkload synchronous_trial(const SweepWorkload& workload) {
  SweepWorkload trial = workload;
  trial.load = "concurrency";
  trial.concurrency = 1;
  trial.requests = std::min(kSynchronousRequests, workload.n_requests());
  trial.max_seconds = trial_seconds(workload);
  return trial;
}

Result<RunRecord> search_saturation(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run) {
  return SaturationSearch(workload, goal, run).run();
}

}  // namespace lathe::app
