// SPDX-License-Identifier: Apache-2.0
// HttpClient: a socket and just enough HTTP to say exactly what a test wants to say, well-formed or not.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/api/json.h"

namespace lathe::tests {

struct HttpReply {
  int status = 0;  ///< 0: the connection ended before a reply
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;

  std::string field(std::string_view name) const;  ///< case ignored; empty when absent
  engine::Json json() const;                       ///< null when the body is none
};

/// One connection. Every read gives up after 20 s, so that a broken server fails a test and does not hang it.
class HttpClient {
 public:
  /// `receive_bytes`: of the kernel's receive buffer; 0 leaves it as it is.
  explicit HttpClient(std::uint16_t port, int receive_bytes = 0);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool connected() const { return socket_ >= 0; }
  bool send(std::string_view bytes);
  /// Reads one whole reply, whatever its framing.
  HttpReply read_reply(bool to_head = false);
  /// Reads the head of a reply; its body is left for read_event or read_until.
  HttpReply read_head();
  /// The data of the next server-sent event of a chunked reply; none at the end of the stream.
  std::optional<std::string> read_event();
  /// Everything that arrives until the other side closes.
  std::string read_to_end();
  bool closed_by_server();
  /// Waits until what has come, and was not read yet, has this text.
  bool await(std::string_view text);
  void half_close();
  void reset();  ///< closes with RST
  void close();

  HttpReply get(std::string_view path, std::string_view more_fields = {});
  HttpReply post(std::string_view path, std::string_view body, std::string_view more_fields = {});
  template <std::same_as<engine::Json> Json>  // a template, so that texts are never taken for JSON values
  HttpReply post(std::string_view path, const Json& body) {
    return post(path, std::string_view(engine::dump_json(body)));
  }
  /// A complete request; `more_fields` are lines with CR LF.
  std::string request(std::string_view method, std::string_view path, std::string_view body = {},
                      std::string_view more_fields = {}) const;
  std::string host() const { return "127.0.0.1:" + std::to_string(port_); }

 private:
  bool fill();
  bool read_line(std::string& line);
  bool take_chunk(std::string& out);

  std::uint16_t port_;
  int socket_ = -1;
  std::string buffer_;  ///< read and not yet used
  std::string events_;  ///< body of a stream, without chunk framing
  bool stream_over_ = false;
};

}  // namespace lathe::tests
