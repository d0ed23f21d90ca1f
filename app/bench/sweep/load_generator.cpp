// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load_generator.h"

#include <algorithm>

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
    while (n_sent_ < planned_.size() || sink_.n_on_way() > 0) {
      LATHE_TRY_VOID(send_what_is_due());
      LATHE_TRY_VOID(sink_.take_news(until_next()));
      if (!go_on_()) return engine::fail(ErrorCode::cancelled, "the run was stopped", "sweep");
    }
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

  Result<void> send_what_is_due() {
    for (; n_sent_ < planned_.size(); ++n_sent_) {
      const PlannedRequest& next = planned_[n_sent_];
      if (is_open() ? next.scheduled > now() : static_cast<std::int64_t>(sink_.n_on_way()) >= workload_.concurrency) break;
      SentRequest& record = record_.requests[n_sent_];
      record.scheduled = is_open() ? next.scheduled : now();
      LATHE_TRY_VOID(sink_.send(n_sent_, next, record));
    }
    return {};
  }

  std::chrono::duration<double> until_next() const {
    if (!is_open() || n_sent_ >= planned_.size()) return kPatience;
    return std::min(kPatience, std::chrono::duration<double>(std::max(0.0, planned_[n_sent_].scheduled - now())));
  }

  LoadSink& sink_;
  const SweepWorkload& workload_;
  const std::vector<PlannedRequest>& planned_;
  const RunClock::time_point start_;
  const std::function<bool()>& go_on_;
  RunRecord record_;
  std::size_t n_sent_ = 0;
};

}  // namespace

Result<RunRecord> run_load(LoadSink& sink, const SweepWorkload& workload, const std::vector<PlannedRequest>& requests,
                           RunClock::time_point start, const std::function<bool()>& go_on) {
  if (requests.empty()) return engine::fail(ErrorCode::invalid_argument, "there is no request to send", "requests");
  return LoadRun(sink, workload, requests, start, go_on).run();
}

}  // namespace lathe::app
