// SPDX-License-Identifier: Apache-2.0
// Access: decides from a request's head whether the server answers it: addressed host, origin of a web page, key, media
// type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/server.h"
#include "app/server/http/bearer_key.h"
#include "app/server/http/message.h"

namespace lathe::app {

struct AccessRefusal {
  int status = 403;
  std::string message;
  std::vector<http::Field> fields{};  ///< fields of the answer that name what would be accepted
};

/// Rules of access, checked on every request. Host and Origin count on loopback too: web pages reach it by DNS rebinding and
/// by posts without preflight.
class Access {
 public:
  explicit Access(const ServerOptions& options);

  /// Returns 421 unless Host (or the authority of an absolute target) is exactly a name of this server or of this machine
  /// with its port, or an allowed host; any host passes with the key, which a web page does not have.
  std::optional<AccessRefusal> check_host(const http::RequestHead& head) const;
  /// Returns 403 for a web page that is not listed. A request without Origin is not from a web page.
  std::optional<AccessRefusal> check_origin(const http::RequestHead& head) const;
  /// Returns 401 without the key, except for the public paths.
  std::optional<AccessRefusal> check_key(const http::RequestHead& head) const;
  /// Returns 415 for a body that is not declared as JSON: other types need no preflight, so any page could post them.
  static std::optional<AccessRefusal> check_media_type(const http::RequestHead& head);
  /// Returns 415 for a body in an unknown content coding.
  static std::optional<AccessRefusal> check_content_coding(const http::RequestHead& head);

  /// True for the CORS preflight of a listed page. It is answered without a key, because browsers send none with it.
  bool is_preflight(const http::RequestHead& head) const;
  /// Returns the CORS fields that let a listed page read the answer; none for other origins.
  std::vector<http::Field> cors_fields(const http::RequestHead& head) const;
  /// Requires: is_preflight(head).
  static std::vector<http::Field> preflight_fields(const http::RequestHead& head);

 private:
  bool lists_origin(std::string_view origin) const;

  std::string host_;
  std::vector<std::string> machine_names_;  ///< "box" and "box.local"
  std::vector<std::string> hosts_, origins_;
  http::BearerKey key_;
};

/// True for the paths that answer without a key.
bool is_public_path(std::string_view path);
/// True if an address can be reached only from this machine.
bool is_loopback(std::string_view host);

}  // namespace lathe::app
