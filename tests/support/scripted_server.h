// SPDX-License-Identifier: Apache-2.0
// ScriptedServer: answers HTTP requests with exactly the bytes that a test says, well-formed or not.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace lathe::tests {

/// A request that came: "POST", "/v1/completions", and the body.
struct ScriptedRequest {
  std::string method, path, body;
};

/// One connection at a time, one request each; it is closed behind the answer. An answer of nothing leaves it open and
/// silent.
class ScriptedServer {
 public:
  using Script = std::function<std::optional<std::string>(const ScriptedRequest&)>;

  explicit ScriptedServer(Script script);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  std::vector<ScriptedRequest> requests() const;

 private:
  void serve(std::stop_token stopping);

  const Script script_;
  int listener_;
  std::uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<ScriptedRequest> requests_;
  std::vector<int> silent_;
  std::jthread thread_;
};

/// A whole answer with its length.
std::string http_answer(int status, const std::string& body);
/// The begin of a stream that ends with the connection, and its events.
std::string http_stream(const std::vector<std::string>& events);

}  // namespace lathe::tests
