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
  std::uint16_t port = 0;  ///< 0: any free port
  Limits limits;
  int n_workers = 2;
  /// Receives messages such as "no file descriptors left"; may be empty.
  std::function<void(const std::string&)> on_trouble;
};

/// Runs one I/O thread for all connections, and a few workers.
class Listener {
 public:
  /// Requires: `handler` outlives the listener. Errors: conflict (port in use), forbidden (privileged port),
  /// invalid_argument (not an address of this machine), resource_exhausted (the system gives no more threads).
  static engine::Result<std::unique_ptr<Listener>> open(const ListenerOptions& options, Handler& handler);
  virtual ~Listener() = default;  ///< stops without grace
  virtual std::uint16_t port() const = 0;
  virtual int n_connections() const = 0;
  /// Accepts no more connections. Running requests may finish within `grace`, then are interrupted. Returns when all
  /// connections are closed.
  virtual void stop(std::chrono::milliseconds grace) = 0;
};

}  // namespace lathe::app::http
