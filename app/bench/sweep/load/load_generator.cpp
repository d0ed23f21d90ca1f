// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/load_generator.h"

#include <algorithm>
#include <set>
#include <utility>

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Result;

constexpr std::chrono::duration<double> kPatience{0.05};

class LoadRun {
 public:
  LoadRun(LoadSink& sink, const SweepWorkload& workload, const std::vector<PlannedRequest>& planned,
          RunClock::time_point start, const std::function<bool()>& go_on)
      : sink_(sink), workload_(workload), planned_(planned), start_(start), go_on_(go_on) {}

  Result<RunRecord> run() {
    record_.requests.resize(planned_.size());
    while (n_sent_ < planned_.size() || !under_way_.empty()) {
      LATHE_TRY_VOID(send_what_is_due());
      if (is_ended_ && under_way_.empty()) break;
      LATHE_TRY(const std::vector<std::size_t> ended, sink_.take_news(until_next()));
      for (const std::size_t index : ended) note_end(index);
      if (!go_on_()) return engine::fail(ErrorCode::cancelled, "the run was stopped", "sweep");
    }
    LATHE_TRY_VOID(leave_out_unsent());
    double first = record_.requests.front().scheduled, last = 0;
    for (const SentRequest& request : record_.requests) {
      first = std::min(first, request.scheduled);
      last = std::max(last, request.end);
    }
    record_.seconds = last - first;
    return std::move(record_);
  }

 private:
  double now() const { return std::chrono::duration<double>(RunClock::now() - start_).count(); }
  bool is_open() const { return workload_.pattern() != LoadPattern::concurrency; }

  Result<void> send(std::size_t index, double scheduled) {
    record_.requests[index].scheduled = scheduled;
    LATHE_TRY_VOID(sink_.send(index, planned_[index], record_.requests[index]));
    under_way_.insert(index);
    ++n_sent_;
    return {};
  }

  std::int64_t n_waiting() const {
    return std::count_if(under_way_.begin(), under_way_.end(),
                         [&](std::size_t index) { return record_.requests[index].token_times.empty(); });
  }

  /// False from the time at which max_seconds or max_waiting has ended the run.
  bool may_send() {
    const bool is_late = workload_.max_seconds > 0 && now() >= workload_.max_seconds;
    const bool is_saturated = is_open() && workload_.max_waiting > 0 && n_waiting() > workload_.max_waiting;
    is_ended_ = is_ended_ || is_late || is_saturated;
    record_.too_many_waited = record_.too_many_waited || is_saturated;
    return !is_ended_;
  }

  /// Drops the requests that were not sent. The answers of a shortened run cannot be compared with those of a whole run.
  Result<void> leave_out_unsent() {
    if (n_sent_ == planned_.size()) return {};
    if (n_sent_ == 0) {
      return engine::fail(ErrorCode::invalid_argument, "ended the run before its first request was due", "max_seconds");
    }
    std::erase_if(record_.requests, [](const SentRequest& request) { return request.end == 0; });
    record_.answers_compare = false;
    return {};
  }

  Result<void> send_what_is_due() {
    if (!may_send()) return {};
    while (!turns_.empty() && turns_.begin()->first <= now() && may_send()) {
      const auto [scheduled, index] = *turns_.begin();
      turns_.erase(turns_.begin());
      LATHE_TRY_VOID(send(index, scheduled));
    }
    while (next_ < planned_.size() && may_send()) {
      const PlannedRequest& first = planned_[next_];
      if (is_open() ? first.scheduled > now() : n_talking_ >= workload_.concurrency) break;
      LATHE_TRY_VOID(send(next_, is_open() ? first.scheduled : now()));
      ++n_talking_;
      next_ += static_cast<std::size_t>(first.n_turns);
    }
    return {};
  }

  void note_end(std::size_t index) {
    under_way_.erase(index);
    if (planned_[index].has_next()) {
      turns_.emplace(record_.requests[index].end + planned_[index + 1].think_time, index + 1);
    } else {
      --n_talking_;
    }
  }

  std::chrono::duration<double> until_next() const {
    double wait = kPatience.count();
    if (is_ended_) return std::chrono::duration<double>(wait);
    if (!turns_.empty()) wait = std::min(wait, turns_.begin()->first - now());
    if (is_open() && next_ < planned_.size()) wait = std::min(wait, planned_[next_].scheduled - now());
    return std::chrono::duration<double>(std::max(0.0, wait));
  }

  LoadSink& sink_;
  const SweepWorkload& workload_;
  const std::vector<PlannedRequest>& planned_;
  const RunClock::time_point start_;
  const std::function<bool()>& go_on_;
  RunRecord record_;
  std::set<std::size_t> under_way_;  ///< sent and not ended
  std::size_t n_sent_ = 0;
  bool is_ended_ = false;       ///< max_seconds or max_waiting ended the run: unsent requests are dropped
  std::size_t next_ = 0;        ///< first turn of the conversation that begins next
  std::int64_t n_talking_ = 0;  ///< conversations that have begun and not ended
  std::set<std::pair<double, std::size_t>> turns_;  ///< turns that wait for their due time, with their indices
};

}  // namespace

Result<RunRecord> run_load(LoadSink& sink, const SweepWorkload& workload, const std::vector<PlannedRequest>& requests,
                           RunClock::time_point start, const std::function<bool()>& go_on) {
  if (requests.empty()) return engine::fail(ErrorCode::invalid_argument, "there is no request to send", "requests");
  return LoadRun(sink, workload, requests, start, go_on).run();
}

}  // namespace lathe::app
