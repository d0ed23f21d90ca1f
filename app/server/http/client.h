// SPDX-License-Identifier: Apache-2.0
// Client: makes HTTP calls to another server, any number at a time, and passes on each answer as it arrives.
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

/// Example: "http://[::1]:8000/prefix" is host "::1", port "8000", path "/prefix".
struct ServerUrl {
  std::string host, port, path;
  std::string authority() const;  ///< value of the Host field
};
/// The default port is 80. Errors: invalid_argument; https is not supported.
engine::Result<ServerUrl> parse_server_url(std::string_view url);

struct ClientLimits {
  std::chrono::milliseconds connect{10'000};
  std::chrono::milliseconds silence{300'000};  ///< longest time before an answer and between two pieces of it
  std::size_t header_bytes = 64u << 10;
};

struct Call {
  std::string method, path;  ///< appended to the path of the URL
  std::vector<Field> fields{};
  std::string body{};  ///< JSON
};

struct AnswerHead {
  int status = 0;
  std::vector<Field> fields{};
  std::string_view value(std::string_view name) const;  ///< value of the first field of that name; empty: there is none
};

/// Callbacks of a call, in this order. An error concerns the connection; an HTTP status is not an error.
struct CallEvents {
  std::function<void(const AnswerHead& head)> on_head;
  std::function<void(std::string_view bytes)> on_piece;  ///< bytes of the body without framing, as one read brought them
  std::function<void(const std::optional<engine::Error>& problem)> on_end;  ///< called once, after all others
};

/// Keeps connections open for later calls. Thread: one; callbacks run inside run_for() only, and may not start calls.
class Client {
 public:
  explicit Client(ServerUrl url, ClientLimits limits = {});
  ~Client();  ///< abandons all calls
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void start(Call call, CallEvents events);
  /// Waits at most `at_most` for an event, then handles all that are ready.
  void run_for(std::chrono::nanoseconds at_most);
  void abandon();  ///< drops all running calls; none of their callbacks is called any more

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe::app::http
