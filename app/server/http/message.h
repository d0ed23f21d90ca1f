// SPDX-License-Identifier: Apache-2.0
// HTTP messages as plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::app::http {

struct Field {
  std::string name, value;
};

/// What a request says before its body. Invariant: no CR, LF or NUL in any of it.
struct RequestHead {
  std::string method;  ///< as sent: "POST"
  std::string target;  ///< as sent, of an absolute-form target without scheme and authority
  std::string path;    ///< the target up to '?', not decoded; of a request that a route answers: canonical_path() of it
  std::string query;
  std::string authority;  ///< of an absolute-form target; empty otherwise
  int minor_version = 1;  ///< of HTTP/1.x
  std::vector<Field> fields;
  std::string peer_address;   ///< "127.0.0.1"
  std::string local_address;  ///< of this machine, where the connection came in; IPv6 in brackets
  std::uint16_t local_port = 0;

  /// Values of every field of that name, case ignored.
  std::vector<std::string_view> values(std::string_view name) const;
  /// The first value, or empty.
  std::string_view value(std::string_view name) const;
};

struct Request : RequestHead {
  std::string body;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::vector<Field> fields{};
  std::string body{};
};

bool equal_ignoring_case(std::string_view a, std::string_view b);
/// "Not Found" of 404.
std::string_view reason_of(int status);
/// Status line and fields up to the empty line. `framing` is the field that says where the body ends.
std::string response_head(const Response& response, std::string_view framing, bool keep_alive, int minor_version);
/// One chunk of a chunked body. An empty one would be its end.
std::string chunk_of(std::string_view data);
/// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::int64_t unix_s);

}  // namespace lathe::app::http
