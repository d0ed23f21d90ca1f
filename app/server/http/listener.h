// SPDX-License-Identifier: Apache-2.0
// Listener: an HTTP/1.1 server on one address: accepts, reads, answers, streams, and stops in order.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "app/server/http/handler.h"
#include "app/server/http/limits.h"
#include "engine/api/result.h"

namespace lathe::app::http {

struct ListenerOptions {
  std::string host;        ///< a numeric address or "localhost"
  std::uint16_t port = 0;  ///< 0: a free one
  Limits limits;
  int n_workers = 2;
  std::function<void(const std::string&)> on_trouble;  ///< "no file descriptors left"...; may be empty
};

/// One I/O thread for all connections and a few workers.
class Listener {
 public:
  /// Requires: `handler` outlives the listener.
  /// Errors: conflict (port taken), forbidden (privileged port), invalid_argument (no such address here), resource_exhausted
  /// (the system gives no more threads).
  static engine::Result<std::unique_ptr<Listener>> open(const ListenerOptions& options, Handler& handler);
  virtual ~Listener() = default;  ///< stops with no grace
  virtual std::uint16_t port() const = 0;
  virtual int n_connections() const = 0;
  /// Takes no more connections; those with a request in work end after it, or are interrupted after `grace`. Returns when
  /// all are gone.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace lathe::app::http
