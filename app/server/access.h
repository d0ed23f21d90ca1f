// SPDX-License-Identifier: Apache-2.0
// Who may speak to the server, judged from a request's head: address it was meant for, web page it comes from, key, media
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
  std::vector<http::Field> fields{};  ///< of the answer: what would be taken instead
};

/// "Localhost is not private": web pages reach it through rebound names and unchecked posts, so both are looked at on every
/// request.
class Access {
 public:
  explicit Access(const ServerOptions& options);

  /// 421 unless Host (or an absolute target's authority) is exactly a name of this server, with its port, or an allowed one.
  std::optional<AccessRefusal> check_host(const http::RequestHead& head) const;
  /// 403 for a web page that is not listed. No Origin: not a web page.
  std::optional<AccessRefusal> check_origin(const http::RequestHead& head) const;
  /// 401 without the key, except for the public paths.
  std::optional<AccessRefusal> check_key(const http::RequestHead& head) const;
  /// 415 for a body that is not declared as JSON: other types need no preflight, so any page could post them.
  static std::optional<AccessRefusal> check_media_type(const http::RequestHead& head);
  /// 415 for a body in a content coding that is not understood.
  static std::optional<AccessRefusal> check_content_coding(const http::RequestHead& head);

  /// Whether this is a listed page asking what it may send: answered without a key, which browsers do not attach to it.
  bool is_preflight(const http::RequestHead& head) const;
  /// What lets a listed page read the answer; none for others.
  std::vector<http::Field> cors_fields(const http::RequestHead& head) const;
  /// Requires: is_preflight(head).
  static std::vector<http::Field> preflight_fields(const http::RequestHead& head);

 private:
  bool lists_origin(std::string_view origin) const;

  std::string host_;
  std::vector<std::string> hosts_, origins_;
  http::BearerKey key_;
};

/// Paths that answer without a key. Nothing else does.
bool is_public_path(std::string_view path);
/// Whether an address can be reached from this machine alone.
bool is_loopback(std::string_view host);

}  // namespace lathe::app
