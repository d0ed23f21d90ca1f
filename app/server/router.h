// SPDX-License-Identifier: Apache-2.0
// Router: screens each request, finds its route in the dialect table, and writes errors in the dialect's format.
#pragma once

#include <functional>

#include "app/api/server.h"
#include "app/server/access.h"
#include "app/server/dialect.h"

namespace lathe::app {

/// Thread: as in http::Handler.
class Router final : public http::Handler {
 public:
  Router(const ServerOptions& options, ServerContext context, Traffic& traffic);

  http::Screening screen(const http::RequestHead& head) override;
  http::Reply handle(http::Request request) override;
  http::Response refuse(const http::RequestHead* head, const http::Refusal& refusal) override;
  http::Response failed(const http::RequestHead& head, const std::exception_ptr& why) override;
  void answered(const http::RequestHead& head, int status) override;

 private:
  struct Match {
    const Dialect* dialect = nullptr;
    std::size_t index = 0;  ///< index of the dialect in the table
    const Route* route = nullptr;
    std::string methods{};             ///< methods of this path: "GET, HEAD, "
    engine::Result<std::string> path;  ///< canonical path, as the route has it
  };
  Match match(const http::RequestHead& head) const;
  struct Nearest {
    const Dialect* dialect = nullptr;
    std::string_view path{};
  };
  Nearest nearest_route(const std::string& path) const;
  const Dialect& dialect_of(const Match& match) const;
  void match_path(Match& match, std::string_view method) const;
  std::optional<AccessRefusal> refusal_of(const http::RequestHead& head, const Match& match) const;
  std::string request_id(const http::RequestHead& head) const;
  std::string no_route(const http::RequestHead& head, const std::string& path) const;
  http::Response error_response(const Dialect& dialect, const engine::Error& error, int status) const;
  http::Response refuse_with(const http::RequestHead* head, const Dialect& dialect, const engine::Error& error, int status);
  bool is_on(const Dialect& dialect) const;

  const ServerOptions options_;
  const Access access_;
  ServerContext context_;
  Traffic& traffic_;
};

}  // namespace lathe::app
