// SPDX-License-Identifier: Apache-2.0
#include "tests/support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "kernels/api/check.h"

namespace lathe::tests {
namespace {

constexpr int kPatienceMs = 20;

/// Head and as much of a body as it announces; empty: the other side is gone.
std::string read_request(int socket) {
  std::string text;
  std::size_t wanted = std::string::npos;
  std::array<char, 4096> bytes{};
  while (wanted == std::string::npos || text.size() < wanted) {
    const ssize_t n = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (n <= 0) return {};
    text.append(bytes.data(), static_cast<std::size_t>(n));
    const std::size_t head = text.find("\r\n\r\n"), length = text.find("Content-Length: ");
    if (head != text.npos) wanted = head + 4 + (length < head ? std::stoul(text.substr(length + 16)) : 0);
  }
  return text;
}

}  // namespace

ScriptedServer::ScriptedServer(Script script)
    : script_(std::move(script)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  LATHE_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
  LATHE_CHECK(::listen(listener_, 64) == 0);
  LATHE_CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::jthread([this](std::stop_token stopping) { serve(std::move(stopping)); });
}

ScriptedServer::~ScriptedServer() {
  thread_.request_stop();
  thread_.join();
  for (const int socket : silent_) ::close(socket);
  ::close(listener_);
}

std::vector<ScriptedRequest> ScriptedServer::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void ScriptedServer::serve(std::stop_token stopping) {
  while (!stopping.stop_requested()) {
    pollfd waits{listener_, POLLIN, 0};
    if (::poll(&waits, 1, kPatienceMs) <= 0) continue;
    const int socket = ::accept(listener_, nullptr, nullptr);
    const std::string text = read_request(socket);
    const std::size_t first = text.find(' '), second = text.find(' ', first + 1), head = text.find("\r\n\r\n");
    if (head == text.npos) {
      ::close(socket);
      continue;
    }
    const ScriptedRequest request{text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(head + 4)};
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
    }
    const std::optional<std::string> answer = script_(request);
    if (!answer) {
      silent_.push_back(socket);
      continue;
    }
    static_cast<void>(::send(socket, answer->data(), answer->size(), MSG_NOSIGNAL));
    ::close(socket);
  }
}

std::string http_answer(int status, const std::string& body) {
  return "HTTP/1.1 " + std::to_string(status) + " Said\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

std::string http_stream(const std::vector<std::string>& events) {
  std::string text = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
  for (const std::string& event : events) text += "data: " + event + "\n\n";
  return text;
}

}  // namespace lathe::tests
