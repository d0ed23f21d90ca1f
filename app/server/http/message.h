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

/// Method, target and fields of a request. Invariant: no value has a CR, LF or NUL.
struct RequestHead {
  std::string method;  ///< as sent: "POST"
  std::string target;  ///< as sent; an absolute-form target without scheme and authority
  std::string path;    ///< target up to '?', not decoded; in a request passed to a route: its canonical_path()
  std::string query;
  std::string authority;  ///< authority of an absolute-form target; else empty
  int minor_version = 1;  ///< minor version of HTTP/1.x
  std::vector<Field> fields;
  std::string peer_address;   ///< "127.0.0.1"
  std::string local_address;  ///< address of this machine that the client connected to; IPv6 in brackets
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
/// Returns the reason phrase: "Not Found" for 404.
std::string_view reason_of(int status);
/// Returns status line and fields up to the empty line. `framing`: the field that delimits the body.
std::string response_head(const Response& response, std::string_view framing, bool keep_alive, int minor_version);
/// Returns one chunk of a chunked body. Requires: `data` is not empty, as an empty chunk ends the body.
std::string chunk_of(std::string_view data);
/// Example: "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::int64_t unix_s);

}  // namespace lathe::app::http
