// SPDX-License-Identifier: Apache-2.0
// Connection: serves one client's socket, request after request, until either side closes it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "app/server/http/handler.h"
#include "app/server/http/limits.h"
#include "app/server/http/worker_pool.h"

namespace lathe::app::http {

class Connection;

/// State shared by the connections of a listener. Thread: the I/O thread, except for the workers.
struct ConnectionHub {
  Handler& handler;
  WorkerPool& workers;
  Limits limits;
  bool stopping = false;   ///< no connection takes a further request
  bool abandoned = false;  ///< running requests are not waited for either
  std::unordered_set<Connection*> connections{};
};

/// Thread: the I/O thread. Owns: the socket; kept alive by its own coroutine.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  virtual ~Connection() = default;
  static std::shared_ptr<Connection> make(boost::asio::ip::tcp::socket socket, ConnectionHub& hub);

  /// Serves requests until the connection ends; the hub lists `this` meanwhile.
  virtual boost::asio::awaitable<void> run() = 0;
  /// Takes no further request: a connection that is still receiving one closes now, a busy one after its answer.
  virtual void finish_soon() = 0;
  /// Ends the running request with an error.
  virtual void interrupt() = 0;
  virtual void close() = 0;
};

}  // namespace lathe::app::http
