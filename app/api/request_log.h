// SPDX-License-Identifier: Apache-2.0
// RequestLog: the last 1,000 requests from chat, server and bench in one table, each with its why-events.
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
  std::uint64_t number = 0;     ///< in this table
  std::uint64_t engine_id = 0;  ///< 0: refused before the engine saw it
  std::int64_t unix_ms = 0;
  std::int64_t submitted_ns = 0;  ///< steady clock
  std::string client;             ///< "Lathe chat", the user agent
  std::string route;              ///< "/v1/chat/completions", "Chat page"
  std::string model;
  std::string source;  ///< "chat", "server", "bench"
  RequestStatus status = RequestStatus::queued;
  int http_status = 0;  ///< 0: not answered yet, or never asked over HTTP
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
  /// Newest first; `revision` rises with every change, so a view may skip an equal one.
  virtual std::vector<RequestRecord> records() const = 0;
  virtual std::optional<RequestRecord> record(std::uint64_t number) const = 0;
  virtual std::uint64_t revision() const = 0;
  virtual void clear() = 0;

  /// Writers: the server and whoever submits. Returns the number.
  virtual std::uint64_t begin(RequestRecord record) = 0;
  virtual void update(std::uint64_t number, const engine::TokenEvent& event) = 0;
  virtual void refuse(std::uint64_t number, int http_status, std::string error) = 0;
  /// The client has its answer, or has gone: 499.
  virtual void answered(std::uint64_t number, int http_status) = 0;
};

}  // namespace lathe::app
