// SPDX-License-Identifier: Apache-2.0
#include "app/server/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <limits>
#include <new>

#include "app/log/printable.h"
#include "app/server/error_status.h"
#include "app/server/http/content_coding.h"
#include "app/server/http/request_path.h"

namespace lathe::app {
namespace {

using engine::Error;
using engine::ErrorCode;

constexpr std::size_t kMaxRequestId = 200;
constexpr const char* kInternal = "internal error; the server's log says more";

/// "*" at the end of a route matches any path below, elsewhere it matches one segment.
bool path_matches(std::string_view route, std::string_view path) {
  const std::size_t star = route.find('*');
  if (star == route.npos) return route == path;
  const std::string_view stem = route.substr(0, star), rest = route.substr(star + 1);
  if (path.size() <= stem.size() + rest.size() || !path.starts_with(stem) || !path.ends_with(rest)) return false;
  const std::string_view segment = path.substr(stem.size(), path.size() - stem.size() - rest.size());
  return rest.empty() || segment.find('/') == segment.npos;
}

bool serves(const Route& route, std::string_view method) {
  return method == route.method || (method == "HEAD" && route.method == "GET");
}

bool announces_body(const http::RequestHead& head) {
  const std::string_view length = head.value("Content-Length");
  return !head.value("Transfer-Encoding").empty() || (!length.empty() && length != "0");
}

Error error_of(const std::exception_ptr& why) {
  try {
    std::rethrow_exception(why);
  } catch (const std::bad_alloc&) {
    return {ErrorCode::resource_exhausted, "not enough memory for this request", {}};
  } catch (const std::exception& exception) {
    return {ErrorCode::internal, exception.what(), {}};
  } catch (...) {
    return {ErrorCode::internal, "an exception without a text", {}};
  }
}

}  // namespace

Router::Router(const ServerOptions& options, ServerContext context, Traffic& traffic)
    : options_(options), access_(options), context_(context), traffic_(traffic) {}

bool Router::is_on(const Dialect& dialect) const {
  return std::find(options_.dialects_off.begin(), options_.dialects_off.end(), dialect.name) == options_.dialects_off.end();
}

/// Also finds a route whose path has a "/v1" more or less: base addresses are given with and without it.
Router::Match Router::match(const http::RequestHead& head) const {
  Match match{.path = http::canonical_path(head.path)};
  if (!match.path) return match;
  match_path(match, head.method);
  if (match.dialect != nullptr) return match;
  const std::string& path = *match.path;
  Match other{.path = path.starts_with("/v1/") ? path.substr(3) : "/v1" + path};
  match_path(other, head.method);
  return other.dialect != nullptr ? other : match;
}

void Router::match_path(Match& match, std::string_view method) const {
  for (std::size_t i = 0; i < dialects().size(); ++i) {
    const Dialect& dialect = *dialects()[i];
    if (!is_on(dialect)) continue;
    for (const Route& route : dialect.routes) {
      if (!path_matches(route.path, *match.path)) continue;
      const bool is_it = match.route == nullptr && serves(route, method);
      if (is_it) match.route = &route;
      if (is_it || match.dialect == nullptr) {
        match.dialect = &dialect;
        match.index = i;
      }
      match.methods.append(route.method).append(route.method == "GET" ? ", HEAD, " : ", ");
    }
  }
}

/// Returns the dialect in whose format an error is written: that of the route, of the nearest one, of the path's prefix.
const Dialect& Router::dialect_of(const Match& match) const {
  if (match.dialect != nullptr) return *match.dialect;
  if (!match.path) return *dialects().front();
  if (const Dialect* nearest = nearest_route(*match.path).dialect) return *nearest;
  for (const Dialect* dialect : dialects()) {
    const bool is_its_path = !dialect->path_prefix.empty() && match.path->starts_with(dialect->path_prefix);
    if (is_its_path && is_on(*dialect)) return *dialect;
  }
  return *dialects().front();
}

/// Checks in a fixed order: a client that the server does not answer at all learns nothing about keys or paths.
std::optional<AccessRefusal> Router::refusal_of(const http::RequestHead& head, const Match& match) const {
  if (auto refusal = access_.check_host(head)) return refusal;
  if (auto refusal = access_.check_origin(head)) return refusal;
  if (access_.is_preflight(head)) return std::nullopt;
  if (auto refusal = access_.check_key(head)) return refusal;
  if (head.method == "OPTIONS") return std::nullopt;
  if (!match.path) return AccessRefusal{400, match.path.error().message};
  if (match.dialect == nullptr) return AccessRefusal{404, no_route(head, *match.path)};
  if (match.route == nullptr) {
    return AccessRefusal{405, "this path accepts " + match.methods + "OPTIONS", {{"Allow", match.methods + "OPTIONS"}}};
  }
  if (head.method != "POST" || !announces_body(head)) return std::nullopt;
  if (!match.dialect->any_media_type) {
    if (auto refusal = Access::check_media_type(head)) return refusal;
  }
  return Access::check_content_coding(head);
}

/// Returns the id that the client gave to its request, or a new one.
std::string Router::request_id(const http::RequestHead& head) const {
  const std::string_view given = head.value("X-Request-Id");
  const bool is_plain = std::all_of(given.begin(), given.end(), [](char c) { return c > ' ' && c < '\x7f'; });
  return given.empty() || given.size() > kMaxRequestId || !is_plain ? "req_" + context_.ids.next() : std::string(given);
}

/// Finds the route that a path with a part too many or too few means: "/api/v1/models", "/v1/v1/v1/models".
Router::Nearest Router::nearest_route(const std::string& path) const {
  Nearest nearest;
  std::ptrdiff_t least = std::numeric_limits<std::ptrdiff_t>::max();
  for (const Dialect* dialect : dialects()) {
    if (!is_on(*dialect) || path == "/") continue;
    for (const Route& route : dialect->routes) {
      const std::string_view whole = route.path.substr(0, route.path.find("/*"));
      const std::ptrdiff_t apart = std::abs(std::ssize(whole) - std::ssize(path));
      if (apart >= least || !(path.ends_with(whole) || whole.ends_with(path))) continue;
      nearest = {dialect, whole};
      least = apart;
    }
  }
  return nearest;
}

std::string Router::no_route(const http::RequestHead& head, const std::string& path) const {
  const std::string_view nearest = nearest_route(path).path;
  const std::string words = "there is no " + printable(head.path, 100) + " here";
  return nearest.empty() ? words : words + "; did you mean " + std::string(nearest) + "?";
}

http::Screening Router::screen(const http::RequestHead& head) {
  http::Screening screening;
  screening.fields = access_.cors_fields(head);
  const Match found = match(head);
  screening.fields.push_back({"x-request-id", request_id(head)});
  if (found.dialect != nullptr && !found.dialect->request_id_field.empty()) {
    screening.fields.push_back({std::string(found.dialect->request_id_field), screening.fields.back().value});
  }
  if (const auto refusal = refusal_of(head, found)) {
    const Dialect& dialect = dialect_of(found);
    screening.refusal = refuse_with(&head, dialect, Error{code_of(refusal->status), refusal->message, {}}, refusal->status);
    auto& fields = screening.refusal->fields;
    fields.insert(fields.end(), refusal->fields.begin(), refusal->fields.end());
  } else if (head.method == "OPTIONS") {
    screening.refusal = http::Response{204, "", {{"Allow", found.methods + "OPTIONS"}}, {}};
    if (access_.is_preflight(head)) screening.refusal->fields = Access::preflight_fields(head);
  } else {
    screening.quick = found.route->quick;
  }
  return screening;
}

/// Catches all exceptions: an exception of a route fails only its own request.
http::Reply Router::handle(http::Request request) {
  const Match found = match(request);
  request.path = *found.path;
  const auto answer = [&]() -> engine::Result<http::Reply> {
    try {
      if (found.route->method == "POST") {
        LATHE_TRY(const auto codings, http::content_codings(request));
        const auto most = static_cast<std::size_t>(options_.limits.body_bytes);
        if (!codings.empty()) {
          LATHE_TRY(request.body, http::decode_content(std::move(request.body), codings, most));
        }
      }
      return found.route->answer(context_, request);
    } catch (...) {
      return tl::unexpected(error_of(std::current_exception()));
    }
  };
  engine::Result<http::Reply> reply = answer();
  if (reply) return std::move(*reply);
  return refuse_with(&request, *found.dialect, reply.error(), http_status_of(reply.error().code));
}

http::Response Router::refuse(const http::RequestHead* head, const http::Refusal& refusal) {
  const Match found = head != nullptr ? match(*head) : Match{.path = std::string()};
  const Dialect& dialect = dialect_of(found);
  // Refusals without a head are counted here: answered() is not called for them.
  if (head == nullptr) traffic_.count(refusal.status, Traffic::kMaxDialects);
  return refuse_with(head, dialect, Error{code_of(refusal.status), refusal.message, {}}, refusal.status);
}

http::Response Router::error_response(const Dialect& dialect, const Error& error, int status) const {
  http::Response response;
  response.status = status;
  response.body = dialect.error_body(error, status);
  if (status == 401) response.fields.push_back({"WWW-Authenticate", "Bearer"});
  if (is_temporary(status)) response.fields.push_back({"Retry-After", "1"});
  return response;
}

http::Response Router::refuse_with(const http::RequestHead* head, const Dialect& dialect, const Error& error, int status) {
  const std::string why = printable(error.message, 500);
  if (head != nullptr) {
    context_.requests.refuse(context_.requests.begin(request_row(*head)), status, why);
    context_.log.write(LogLevel::debug, "server",
                       fmt::format("{} {} refused: {} {}", head->method, printable(head->path, 120), status, why));
  }
  if (status != 500) return error_response(dialect, error, status);
  // Internal failures go to the log only: their messages may name files and addresses.
  context_.log.error("server", "a request failed: " + why);
  return error_response(dialect, Error{error.code, kInternal, {}}, status);
}

http::Response Router::failed(const http::RequestHead& head, const std::exception_ptr& why) {
  const Match found = match(head);
  const Dialect& dialect = dialect_of(found);
  const Error error = error_of(why);
  const int status = http_status_of(error.code);
  context_.log.error("server", fmt::format("the answer to {} {} could not be built: {}", head.method,
                                           printable(head.path, 120), printable(error.message, 500)));
  // The request's rows are already in the table of requests.
  return error_response(dialect, status == 500 ? Error{error.code, kInternal, {}} : error, status);
}

void Router::answered(const http::RequestHead& head, int status) {
  const Match found = match(head);
  traffic_.count(status, found.route != nullptr ? found.index : Traffic::kMaxDialects);
  context_.log.write(LogLevel::debug, "server",
                     fmt::format("{} {} {}", printable(head.method, 16), printable(head.path, 120), status));
}

}  // namespace lathe::app
