// SPDX-License-Identifier: Apache-2.0
// RequestLog: the last 1,000 requests from chat, server and bench in one table, each with its scheduler events.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/api/request.h"
#include "engine/api/scheduler_event.h"

namespace lathe::app {

enum class RequestStatus : std::uint8_t { queued, reading, writing, done, cancelled, refused, failed };
/// "Queued", "Reading", "Writing", "Done", "Cancelled", "Refused", "Failed".
std::string name_of(RequestStatus status);

struct RequestRecord {
  std::uint64_t number = 0;     ///< number of the request in this log
  std::uint64_t engine_id = 0;  ///< 0: refused before it reached the engine
  std::int64_t unix_ms = 0;
  std::int64_t submitted_ns = 0;  ///< steady clock
  std::string client;             ///< "Lathe chat", the user agent
  std::string route;              ///< "/v1/chat/completions", "Chat page"
  std::string model;
  std::string source;  ///< "chat", "server", "bench"
  RequestStatus status = RequestStatus::queued;
  int http_status = 0;  ///< 0: not answered yet, or not an HTTP request
  engine::Usage usage;
  engine::RequestTimings timings;
  std::string stop;  ///< "eos", "length", "client", a stop string
  std::string error;
  std::vector<engine::SchedulerEvent> why;
};

/// Thread: any.
class RequestLog {
 public:
  virtual ~RequestLog() = default;
  /// All records, newest first; revision() increases with every change, so a view may skip an update if it is equal.
  virtual std::vector<RequestRecord> records() const = 0;
  virtual std::optional<RequestRecord> record(std::uint64_t number) const = 0;
  virtual std::uint64_t revision() const = 0;
  virtual void clear() = 0;

  /// Adds a request and returns its number. begin(), update(), refuse() and answered() are called by the server and by all
  /// other code that submits requests.
  virtual std::uint64_t begin(RequestRecord record) = 0;
  virtual void update(std::uint64_t number, const engine::TokenEvent& event) = 0;
  virtual void refuse(std::uint64_t number, int http_status, std::string error) = 0;
  /// Records the status of the complete answer, or 499 if the client has disconnected.
  virtual void answered(std::uint64_t number, int http_status) = 0;
};

}  // namespace lathe::app
