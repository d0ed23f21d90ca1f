// SPDX-License-Identifier: Apache-2.0
// Server: the HTTP face of the loaded model; dialects on one listener, limits, keys, metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// Limits of robustness.md (c), each configurable.
struct ServerLimits {
  std::int64_t body_bytes = 32 << 20;
  int header_lines = 100;
  std::int64_t header_bytes = 32 << 10;
  int header_timeout_s = 10;
  int body_idle_timeout_s = 30;
  int write_stall_timeout_s = 60;
  int idle_timeout_s = 75;
  int connections = 4096;
  int sse_keep_alive_interval_s = 10;  ///< a stream that is silent for so long sends a comment; 0: never
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;  ///< 0: a free one
  std::string api_key;        ///< empty: none. A bind outside loopback requires one
  std::string model_name;     ///< that clients ask for; empty: the loaded model's own
  /// Besides the address itself, localhost and 127.0.0.1. A name without a port stands for all ports.
  std::vector<std::string> allowed_hosts;
  /// CORS; empty: off. "http://localhost" and other names of this machine without a port stand for all of its ports.
  std::vector<std::string> allowed_origins;
  ServerLimits limits;
  std::vector<std::string> dialects_off;  ///< names of the dialect table
};

struct DialectState {
  std::string name;      ///< "OpenAI"
  std::string base_url;  ///< "http://127.0.0.1:8000/v1"
  std::string curl;      ///< a command that answers as it stands
  bool on = false;
  std::uint64_t n_requests = 0;
};

enum class ServerState : std::uint8_t { off, starting, running, stopping, failed };

struct ServerStatus {
  ServerState state = ServerState::off;
  std::string host;
  std::uint16_t port = 0;  ///< the real one
  std::int64_t since_unix_ms = 0;
  std::uint64_t n_requests = 0, n_errors = 0;
  int n_connections = 0;
  std::string error;            ///< "Port 8000 is used by python (4121)"
  std::uint16_t free_port = 0;  ///< an offer when the port is taken
  std::vector<DialectState> dialects;
};

/// Thread: any; its listener has a thread of its own. Knows the model through the workbench's ModelSlot.
class Server {
 public:
  virtual ~Server() = default;
  /// Errors: invalid_argument, conflict (port taken; message names the process when it can be known), forbidden
  /// (privileged).
  virtual engine::Result<void> start(const ServerOptions& options) = 0;
  /// Takes no more; running streams end when done or after `grace_ms` with an error event.
  virtual void stop(int grace_ms) = 0;
  virtual ServerStatus status() const = 0;
};

/// Every dialect of the table, for views while the server is off.
std::vector<DialectState> known_dialects(const ServerOptions& options, const std::string& model_name);

}  // namespace lathe::app
