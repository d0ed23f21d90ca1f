// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/saturation_search.h"

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
constexpr double kUsualSeconds = 5;  // time after which a growing queue shows, under any scheduler
constexpr double kLongSeconds = 120;
constexpr std::int64_t kFewRequests = 8, kMostRequests = 4000;
constexpr double kLengthened = 1.2;                        // requests take longer while more are running
constexpr double kGrowth = 2, kSlowestShare = 1.0 / 32;    // factors of the rate of one request at a time
constexpr double kLeastRate = 0.001, kMostRate = 100'000;  // limits of the setting `rate`

/// Rounds to three digits, so that the rate can be given as a setting.
double rounded(double rate) {
  const std::string text = fmt::format("{:.3g}", std::clamp(rate, kLeastRate, kMostRate));
  double value = rate;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::int64_t first_requests(const SweepWorkload& work, double rate) {
  if (work.requests > 0) return work.requests;
  const auto of = [&](double seconds) { return static_cast<std::int64_t>(std::llround(seconds * rate)); };
  const std::int64_t least = std::min(work.n_requests(), std::max(kFewRequests, of(kLongSeconds)));
  return std::clamp(of(kUsualSeconds), least, kMostRequests);
}

/// Median duration of a request. Units: seconds.
double usual_seconds(const RunRecord& run) {
  std::vector<double> took;
  for (const SentRequest& request : run.requests) took.push_back(request.end - request.scheduled);
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  return *middle;
}

/// Time from the first to the ninth decile: neither the empty begin nor a late straggler counts.
double middle_span(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  const std::size_t out = times.size() / 10;
  return times[times.size() - 1 - out] - times[out];
}

/// Completion rate over arrival rate: 1 as long as the queue does not grow.
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

/// Describes a latency that the goal limits; empty: the goal has no such limit.
std::string at_p99(const char* latency, double value, double limit) {
  return limit > 0 && value > 0 ? fmt::format(", {} {:.4g} ms at p99 of {:g}", latency, value, limit) : std::string();
}

class SaturationSearch {
 public:
  SaturationSearch(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run)
      : workload_(workload), goal_(goal), run_(run) {}

  Result<RunRecord> run() {
    LATHE_TRY(double rate, synchronous_rate());
    double slowest = rounded(rate * kSlowestShare);
    if (workload_.max_seconds > 0) slowest = std::max(slowest, rounded(kFewRequests / workload_.max_seconds));
    rate = std::max(rate, slowest);
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
                          fmt::format("no rate holds: at {:g} req/s, the lowest rate that was tried, {}",
                                      trials_.back().rate, trials_.back().failure),
                          "saturation");
    }
    best_->max_rate = held;
    best_->answers_compare = best_->answers_compare && workload_.requests > 0;  // else their number depends on the rate
    best_->trials = std::move(trials_);
    return std::move(*best_);
  }

 private:
  Result<double> synchronous_rate() {
    LATHE_TRY(const RunRecord record, run_(synchronous_trial(workload_), text_of_trial(0)));
    const SweepTrial& trial = record_trial(0, record, missed_goal(record));
    if (trial.failure.empty()) return rounded(trial.request_s);
    return engine::fail(ErrorCode::unavailable, fmt::format("no rate holds: with one request at a time, {}", trial.failure),
                        "saturation");
  }

  Result<bool> try_rate(double rate) {
    SweepWorkload trial = workload_;
    trial.load = "poisson";
    trial.rate = rate;
    trial.requests = first_requests(workload_, rate);
    for (;;) {
      Result<RunRecord> record = run_(trial, text_of_trial(rate));
      if (!record && is_overload(record.error())) {
        trials_.push_back({rate, record.error().message, 0, kUnseen, kUnseen, kUnseen, kUnseen});
        return false;
      }
      if (!record) return tl::unexpected(record.error());
      LATHE_TRY(std::string failure, judge(*record, trial));
      if (!failure.empty()) {
        record_trial(rate, *record, std::move(failure));
        return false;
      }
      LATHE_TRY(const std::int64_t more, requests_missing(*record, trial));
      if (more == 0) {
        record_trial(rate, *record, {});
        best_ = std::move(*record);
        return true;
      }
      trial.requests += more;
    }
  }

  /// Returns the additional requests with which the trial is long enough; 0: it was.
  Result<std::int64_t> requests_missing(const RunRecord& record, const SweepWorkload& trial) const {
    const auto sent = static_cast<std::int64_t>(record.requests.size());
    const double needed = kRounds * usual_seconds(record);
    const auto n = static_cast<std::int64_t>(std::ceil(std::min(needed * trial.rate, 1.0 * kMostRequests)));
    if (sent >= n) return std::int64_t{0};
    if (sent < trial.requests) {
      return engine::fail(
          ErrorCode::invalid_argument,
          fmt::format(
              "a limit of {:g} s is too short to judge a rate: requests take {:.3g} s at {:g} req/s, so {:.0f} s are needed",
              trial.max_seconds, needed / kRounds, trial.rate, std::ceil(kLengthened * needed)),
          "max_seconds");
    }
    return std::min(kMostRequests, static_cast<std::int64_t>(std::ceil(kLengthened * static_cast<double>(n)))) - sent;
  }

  /// Returns why the rate does not hold; empty: it holds, if the trial was long enough.
  Result<std::string> judge(const RunRecord& record, const SweepWorkload& trial) const {
    if (record.too_many_waited) return fmt::format("more than {} requests waited for their first token", trial.max_waiting);
    if (static_cast<std::int64_t>(record.requests.size()) < kLeastTrialRequests) {
      return engine::fail(
          ErrorCode::invalid_argument,
          fmt::format("a limit of {:g} s leaves {} requests at {:g} req/s, which are too few to judge a rate: {} are needed",
                      trial.max_seconds, record.requests.size(), trial.rate, kLeastTrialRequests),
          "max_seconds");
    }
    std::string missed = missed_goal(record);
    const double share = completed_share(record);
    if (!missed.empty() || share >= kCompletedShare) return missed;
    return fmt::format("requests were completed at {:.0f} % of the rate at which they arrived", 100 * share);
  }

  std::string missed_goal(const RunRecord& record) const {
    const double all = value_of(record, "request_s"), good = value_of(record, "goodput_req_s");
    if (keeps_goal(good, all)) return {};
    const auto n = static_cast<double>(record.requests.size());
    const std::string words = at_p99("TTFT", value_of(record, "ttft_ms_p99"), goal_.ttft_ms) +
                              at_p99("ITL", value_of(record, "itl_ms_p99"), goal_.itl_ms);
    return fmt::format("{:.0f} of {:.0f} requests missed the goal{}", n * (1 - good / all), n, words);
  }

  double value_of(const RunRecord& record, std::string_view metric) const {
    return sweep_metrics()[metric_index(metric)].of(record, goal_);
  }

  const SweepTrial& record_trial(double rate, const RunRecord& record, std::string failure) {
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
  std::optional<RunRecord> best_;  ///< run at the highest rate that held
};

}  // namespace

SweepWorkload synchronous_trial(const SweepWorkload& workload) {
  SweepWorkload trial = workload;
  trial.load = "concurrency";
  trial.concurrency = 1;
  trial.requests = std::min(kSynchronousRequests, workload.n_requests());
  return trial;
}

Result<RunRecord> search_saturation(const SweepWorkload& workload, const ServiceGoal& goal, const TrialRunner& run) {
  return SaturationSearch(workload, goal, run).run();
}

}  // namespace lathe::app
