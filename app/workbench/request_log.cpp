// SPDX-License-Identifier: Apache-2.0
#include "app/workbench/request_log.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <mutex>
#include <unordered_map>

namespace lathe::app {
namespace {

using Clock = std::chrono::steady_clock;
using engine::FinishReason;
using engine::SchedulerEvent;
using engine::SchedulerEventKind;
using engine::TokenEvent;

constexpr std::size_t kKeptRecords = 1000;
/// A request of 100,000 prompt tokens in chunks of 512 has 200 events; of more events than this the middle ones are dropped.
constexpr std::size_t kKeptEvents = 256, kKeptFirstEvents = 32;
/// Most events of requests without a row: these are entered later or, as those of a benchmark, never.
constexpr std::size_t kKeptUnclaimed = 4096;
/// Every step of every stream yields tokens; because of these the engine is asked for events at most this often.
constexpr std::chrono::milliseconds kCollectEvery{100};

RequestStatus status_after(const TokenEvent& event) {
  switch (event.finish_reason) {
    case FinishReason::cancelled: return RequestStatus::cancelled;
    case FinishReason::error: return RequestStatus::failed;
    default: return RequestStatus::done;
  }
}

std::string stop_after(const TokenEvent& event) {
  switch (event.finish_reason) {
    case FinishReason::cancelled: return "client";
    case FinishReason::length: return "length";
    case FinishReason::error: return "error";
    default: return event.stop_reason.empty() ? "stop" : event.stop_reason;
  }
}

bool is_over(RequestStatus status) { return status >= RequestStatus::done; }

class RingRequestLog final : public RequestLog {
 public:
  explicit RingRequestLog(const ModelSlot& slot) : slot_(slot) {}

  std::vector<RequestRecord> records() const override {
    collect();
    const std::lock_guard lock(mutex_);
    std::vector<RequestRecord> newest_first;
    newest_first.reserve(rows_.size());
    for (auto row = rows_.rbegin(); row != rows_.rend(); ++row) newest_first.push_back(row->record);
    return newest_first;
  }

  std::optional<RequestRecord> record(std::uint64_t number) const override {
    collect();
    const std::lock_guard lock(mutex_);
    const Row* row = find(number);
    return row == nullptr ? std::nullopt : std::optional(row->record);
  }

  std::uint64_t revision() const override {
    if (is_due()) collect();
    const std::lock_guard lock(mutex_);
    return revision_;
  }

  void clear() override {
    const std::lock_guard lock(mutex_);
    // Rows of running requests stay, as they are still updated.
    std::erase_if(rows_, [](const Row& row) { return is_over(row.record.status); });
    ++revision_;
  }

  std::uint64_t begin(RequestRecord record) override {
    const std::uint64_t number = slot_.status().n_engines;
    const std::lock_guard lock(mutex_);
    record.number = ++last_number_;
    if (record.unix_ms == 0) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      record.unix_ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
    }
    if (record.submitted_ns == 0) record.submitted_ns = Clock::now().time_since_epoch().count();
    rows_.push_back({std::move(record), number});
    claim(rows_.back());
    if (rows_.size() > kKeptRecords) rows_.pop_front();
    ++revision_;
    return last_number_;
  }

  void update(std::uint64_t number, const TokenEvent& event) override {
    {
      const std::lock_guard lock(mutex_);
      Row* row = find(number);
      if (row == nullptr) return;
      apply(row->record, event);
      ++revision_;
    }
    if (event.finished || is_due()) collect();
  }

  void refuse(std::uint64_t number, int http_status, std::string error) override {
    const std::lock_guard lock(mutex_);
    Row* row = find(number);
    if (row == nullptr) return;
    row->record.status = RequestStatus::refused;
    row->record.http_status = http_status;
    row->record.error = std::move(error);
    ++revision_;
  }

  void answered(std::uint64_t number, int http_status) override {
    const std::lock_guard lock(mutex_);
    Row* row = find(number);
    if (row == nullptr) return;
    row->record.http_status = http_status;
    ++revision_;
  }

 private:
  struct Row {
    RequestRecord record;
    std::uint64_t engine = 0;  ///< number of the engine that served it: every engine counts its requests from 1
  };

  static void apply(RequestRecord& record, const TokenEvent& event) {
    record.usage = event.usage;
    record.timings = event.timings;
    if (event.finished) {
      record.status = status_after(event);
      record.stop = stop_after(event);
      if (event.error) record.error = event.error->message;
    } else if (event.usage.n_completion_tokens > 0) {
      record.status = RequestStatus::writing;
    }
  }

  static void append(RequestRecord& record, const SchedulerEvent& event) {
    record.why.push_back(event);
    if (record.why.size() > kKeptEvents) record.why.erase(record.why.begin() + kKeptFirstEvents);
    if (event.kind == SchedulerEventKind::admitted && record.status == RequestStatus::queued) {
      record.status = RequestStatus::reading;
    }
  }

  bool is_due() const {
    const std::lock_guard lock(mutex_);
    return Clock::now() - collected_ >= kCollectEvery;
  }

  /// Adds to a new row the events that were fetched between the request's submission and the row's entry.
  void claim(Row& row) {
    if (row.record.engine_id == 0 || row.engine != engine_number_) return;
    std::erase_if(unclaimed_, [&](const SchedulerEvent& event) {
      if (event.request_id != row.record.engine_id) return false;
      append(row.record, event);
      return true;
    });
  }

  /// Fetches the scheduler's events since the last call and adds each to the row of its request.
  void collect() const {
    const EngineLease engine = slot_.lease();
    if (!engine) return;
    const ModelStatus status = slot_.status();
    // An unload was requested after the lease was taken: its events would be assigned to the next model.
    if (status.state != ModelState::ready) return;
    const std::uint64_t number = status.n_engines;
    const std::lock_guard lock(mutex_);
    collected_ = Clock::now();
    if (number != engine_number_) {
      engine_number_ = number;
      cursor_ = 0;
      unclaimed_.clear();
    }
    const std::vector<SchedulerEvent> events = engine->events_since(cursor_);
    if (events.empty()) return;
    std::unordered_map<std::uint64_t, RequestRecord*> by_id;
    for (Row& row : rows_) {
      if (row.engine == number && row.record.engine_id != 0) by_id[row.record.engine_id] = &row.record;
    }
    for (const SchedulerEvent& event : events) {
      if (const auto found = by_id.find(event.request_id); found != by_id.end()) {
        append(*found->second, event);
      } else {
        unclaimed_.push_back(event);
      }
    }
    while (unclaimed_.size() > kKeptUnclaimed) unclaimed_.pop_front();
    ++revision_;
  }

  /// Numbers increase by one per row; clear() leaves gaps.
  Row* find(std::uint64_t number) const {
    const auto row = std::lower_bound(rows_.begin(), rows_.end(), number,
                                      [](const Row& a, std::uint64_t n) { return a.record.number < n; });
    return row != rows_.end() && row->record.number == number ? &*row : nullptr;
  }

  const ModelSlot& slot_;
  mutable std::mutex mutex_;
  mutable std::deque<Row> rows_;
  mutable std::deque<SchedulerEvent> unclaimed_;
  mutable std::uint64_t revision_ = 0, engine_number_ = 0, cursor_ = 0;
  mutable Clock::time_point collected_{};
  std::uint64_t last_number_ = 0;
};

}  // namespace

std::string name_of(RequestStatus status) {
  switch (status) {
    case RequestStatus::queued: return "Queued";
    case RequestStatus::reading: return "Reading";
    case RequestStatus::writing: return "Writing";
    case RequestStatus::done: return "Done";
    case RequestStatus::cancelled: return "Cancelled";
    case RequestStatus::refused: return "Refused";
    case RequestStatus::failed: return "Failed";
  }
  return "?";
}

std::unique_ptr<RequestLog> make_request_log(const ModelSlot& slot) { return std::make_unique<RingRequestLog>(slot); }

}  // namespace lathe::app
