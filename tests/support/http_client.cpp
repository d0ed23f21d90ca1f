// SPDX-License-Identifier: Apache-2.0
#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "tests/support/patience.h"

namespace lathe::tests {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

}  // namespace

std::string HttpReply::field(std::string_view name) const {
  for (const auto& [key, value] : fields) {
    if (same_name(key, name)) return value;
  }
  return {};
}

engine::Json HttpReply::json() const {
  auto parsed = engine::parse_json(body, "reply");
  return parsed ? std::move(*parsed) : engine::Json();
}

HttpClient::HttpClient(std::uint16_t port, int receive_bytes)
    : port_(port), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval patience{kPatienceSeconds, 0};
  const int on = 1;
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (receive_bytes > 0) ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

bool HttpClient::await(std::string_view text) {
  while (buffer_.find(text) == std::string::npos) {
    if (!fill()) return false;
  }
  return true;
}

void HttpClient::half_close() { ::shutdown(socket_, SHUT_WR); }

void HttpClient::reset() {
  const linger at_once{1, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

bool HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool HttpClient::fill() {
  std::array<char, 16384> bytes{};
  const ssize_t n = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (n <= 0) return false;
  buffer_.append(bytes.data(), static_cast<std::size_t>(n));
  return true;
}

bool HttpClient::read_line(std::string& line) {
  std::size_t end = buffer_.find("\r\n");
  for (; end == std::string::npos; end = buffer_.find("\r\n")) {
    if (!fill()) return false;
  }
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return true;
}

bool HttpClient::take_chunk(std::string& out) {
  std::string line;
  std::size_t size = 0;
  if (!read_line(line)) return false;
  std::from_chars(line.data(), line.data() + line.size(), size, 16);
  while (buffer_.size() < size + 2) {
    if (!fill()) return false;
  }
  out.append(buffer_, 0, size);
  buffer_.erase(0, size + 2);
  return size > 0;
}

HttpReply HttpClient::read_head() {
  HttpReply reply;
  std::string line;
  if (!read_line(line)) return reply;
  std::from_chars(line.data() + 9, line.data() + line.size(), reply.status);
  while (read_line(line) && !line.empty()) {
    const std::size_t colon = line.find(": ");
    if (colon != line.npos) reply.fields.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  events_.clear();
  stream_over_ = false;
  return reply;
}

HttpReply HttpClient::read_reply(bool to_head) {
  HttpReply reply = read_head();
  if (reply.status == 0 || reply.status == 204 || to_head) return reply;
  if (const std::string length = reply.field("Content-Length"); !length.empty()) {
    const std::size_t size = std::stoul(length);
    while (buffer_.size() < size) {
      if (!fill()) break;
    }
    reply.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  } else if (reply.field("Transfer-Encoding") == "chunked") {
    while (take_chunk(reply.body)) {
    }
  } else {
    reply.body = read_to_end();
  }
  return reply;
}

std::optional<std::string> HttpClient::read_event() {
  std::size_t end = events_.find("\n\n");
  for (; end == std::string::npos; end = events_.find("\n\n")) {
    if (stream_over_) return std::nullopt;
    if (!take_chunk(events_)) stream_over_ = true;
  }
  std::string event = events_.substr(0, end);
  events_.erase(0, end + 2);
  return event.starts_with("data: ") ? event.substr(6) : event;
}

std::string HttpClient::read_to_end() {
  while (fill()) {
  }
  return std::exchange(buffer_, {});
}

bool HttpClient::closed_by_server() {
  char byte = 0;
  return ::recv(socket_, &byte, 1, 0) <= 0;
}

std::string HttpClient::request(std::string_view method, std::string_view path, std::string_view body,
                                std::string_view more_fields) const {
  std::string text =
      std::string(method) + " " + std::string(path) + " HTTP/1.1\r\nHost: " + host() + "\r\n" + std::string(more_fields);
  if (method == "POST") text += "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) + "\r\n";
  return text + "\r\n" + std::string(body);
}

HttpReply HttpClient::get(std::string_view path, std::string_view more_fields) {
  send(request("GET", path, {}, more_fields));
  return read_reply();
}

HttpReply HttpClient::post(std::string_view path, std::string_view body, std::string_view more_fields) {
  send(request("POST", path, body, more_fields));
  return read_reply();
}

}  // namespace lathe::tests
