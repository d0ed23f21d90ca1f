// SPDX-License-Identifier: Apache-2.0
// Server: HTTP server of the loaded model, with all dialects on one listener, limits, API keys and metrics.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// Configurable limits that protect the server.
struct ServerLimits {
  std::int64_t body_bytes = 32 << 20;
  int header_lines = 100;
  std::int64_t header_bytes = 32 << 10;
  int header_timeout_s = 10;
  int body_idle_timeout_s = 30;
  int write_stall_timeout_s = 60;
  int idle_timeout_s = 75;
  int connections = 4096;
  int sse_keep_alive_interval_s = 10;  ///< silence after which a stream sends a comment; 0: never
};

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8000;                   ///< 0: a free one
  std::string api_key;                         ///< empty: none. Required if the host is not a loopback address
  std::string model_name;                      ///< name that clients use; empty: the loaded model's own
  std::vector<std::string> other_model_names;  ///< further names that clients may use; answers have the first
  bool any_model_name = false;                 ///< every name that a client uses is the loaded model
  /// Allowed Host headers in addition to the address itself, localhost and 127.0.0.1. A name without port matches any port.
  std::vector<std::string> allowed_hosts;
  /// CORS origins; empty: off. "http://localhost" and other names of this machine without a port match any port.
  std::vector<std::string> allowed_origins;
  ServerLimits limits;
  std::vector<std::string> dialects_off;  ///< names from the dialect table
};

struct DialectState {
  std::string name;      ///< "OpenAI"
  std::string base_url;  ///< "http://127.0.0.1:8000/v1"
  std::string curl;      ///< an example command that works unchanged
  bool on = false;
  std::uint64_t n_requests = 0;
};

enum class ServerState : std::uint8_t { off, starting, running, stopping, failed };

struct ServerStatus {
  ServerState state = ServerState::off;
  std::string host;
  std::uint16_t port = 0;  ///< port of the listener
  std::int64_t since_unix_ms = 0;
  std::uint64_t n_requests = 0, n_errors = 0;
  int n_connections = 0;
  std::string error;            ///< "Port 8000 is used by python (4121)"
  std::uint16_t free_port = 0;  ///< a free port, if the chosen one is taken
  std::vector<DialectState> dialects;
};

/// Thread: any; the listener has its own thread. The model comes from the workbench's ModelSlot.
class Server {
 public:
  virtual ~Server() = default;
  /// Errors: invalid_argument, conflict (port taken; the message names the process if it can be determined), forbidden
  /// (privileged port).
  virtual engine::Result<void> start(const ServerOptions& options) = 0;
  /// Stops accepting requests; running streams finish, or end with an error event after `grace_ms`.
  virtual void stop(int grace_ms) = 0;
  virtual ServerStatus status() const = 0;
};

/// All dialects of the table, for views while the server is off. `generates`: false for an encoder, which has other
/// examples.
std::vector<DialectState> known_dialects(const ServerOptions& options, const std::string& model_name, bool generates = true);

}  // namespace lathe::app
