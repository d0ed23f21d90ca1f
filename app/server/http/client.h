// SPDX-License-Identifier: Apache-2.0
// Client: calls to another HTTP server, any number at a time, each answer read as it comes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/server/http/message.h"
#include "engine/api/result.h"

namespace lathe::app::http {

/// "http://[::1]:8000/prefix" is host "::1", port "8000", path "/prefix".
struct ServerUrl {
  std::string host, port, path;
  std::string authority() const;  ///< of the Host field
};
/// Without a port: 80. Errors: invalid_argument; https is not spoken.
engine::Result<ServerUrl> parse_server_url(std::string_view url);

struct ClientLimits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds silence{300'000};  ///< between two pieces of an answer, and before the first
  std::size_t header_bytes = 64u << 10;
};

struct Call {
  std::string method, path;  ///< below the path of the URL
  std::vector<Field> fields{};
  std::string body{};  ///< JSON
};

struct AnswerHead {
  int status = 0;
  std::vector<Field> fields{};
  std::string_view value(std::string_view name) const;  ///< of the first field of that name; empty: there is none
};

/// What comes of a call, in this order. An error says what was the matter with the connection; a status is none.
struct CallEvents {
  std::function<void(const AnswerHead& head)> on_head;
  std::function<void(std::string_view bytes)> on_piece;                     ///< of the body, unframed; what one read brought
  std::function<void(const std::optional<engine::Error>& problem)> on_end;  ///< once, and the last
};

/// Connections are kept for the calls that follow. Thread: one; events come inside run_for() only, and may not start calls.
class Client {
 public:
  explicit Client(ServerUrl url, ClientLimits limits = {});
  ~Client();  ///< abandons
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start(Call call, CallEvents events);
  /// Waits for something to come, and takes all that has.
  void run_for(std::chrono::nanoseconds at_most);
  void abandon();  ///< breaks what is on its way; nothing is told of it any more

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::app::http
