// SPDX-License-Identifier: Apache-2.0
#include "app/server/access.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "app/log/printable.h"
#include "app/server/http/content_coding.h"

namespace lathe::app {
namespace {

using http::equal_ignoring_case;

constexpr std::array<std::string_view, 1> kPublicPaths = {"/health"};
constexpr std::array<std::string_view, 3> kLoopbackNames = {"localhost", "127.0.0.1", "[::1]"};

/// True if `given` is `name` with this port, or without a port if the port is HTTP's default, 80.
bool names_here(std::string_view given, std::string_view name, std::uint16_t port) {
  const std::string here = std::string(name) + ":" + std::to_string(port);
  return equal_ignoring_case(given, here) || (port == 80 && equal_ignoring_case(given, name));
}

/// True for the scheme and host of a page on this machine. Such origins match with any port: development servers use any.
bool is_loopback_origin(std::string_view listed) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!listed.starts_with(scheme)) continue;
    const std::string_view host = listed.substr(scheme.size());
    return std::find(kLoopbackNames.begin(), kLoopbackNames.end(), host) != kLoopbackNames.end();
  }
  return false;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && text.find_first_not_of("0123456789") == text.npos;
}

bool allows_origin(std::string_view listed, std::string_view origin) {
  if (origin == listed) return true;
  return is_loopback_origin(listed) && origin.starts_with(listed) && origin.substr(listed.size()).starts_with(':') &&
         is_port(origin.substr(listed.size() + 1));
}

/// Returns a host without its port and without the root's dot; an IPv6 address keeps its brackets.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
  host = host.substr(0, host.find(':'));
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

bool is_bare_v6(std::string_view host) { return !host.starts_with('[') && std::count(host.begin(), host.end(), ':') > 1; }

bool has_port(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  return colon != host.npos && host.find(']', colon) == host.npos && !is_bare_v6(host);
}

/// True if `given` is an allowed host: one listed with a port matches exactly, one listed without a port matches any port,
/// because the port of a published container or a tunnel differs from this server's.
bool allows_host(std::string_view listed, std::string_view given) {
  if (has_port(listed)) return equal_ignoring_case(given, listed);
  const std::string_view name = name_of(given), rest = given.substr(name.size());
  if (name.empty()) return false;
  const std::size_t dot = rest.starts_with('.') ? 1 : 0;
  const bool is_host = rest.size() == dot || (rest[dot] == ':' && is_port(rest.substr(dot + 1)));
  const std::string bracketed = "[" + std::string(listed) + "]";
  return is_host && equal_ignoring_case(name, is_bare_v6(listed) ? std::string_view(bracketed) : name_of(listed));
}

/// Names of this machine: its host name, and that name as multicast DNS has it.
std::vector<std::string> names_of_machine() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return {};
  return {name.data(), std::string(name.data()) + ".local"};
}

}  // namespace

bool is_public_path(std::string_view path) {
  return std::find(kPublicPaths.begin(), kPublicPaths.end(), path) != kPublicPaths.end();
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" || host.starts_with("127.");
}

Access::Access(const ServerOptions& options)
    : host_(options.host),
      machine_names_(names_of_machine()),
      hosts_(options.allowed_hosts),
      origins_(options.allowed_origins),
      key_(options.api_key) {}

std::optional<AccessRefusal> Access::check_host(const http::RequestHead& head) const {
  const std::string_view given = head.authority.empty() ? head.value("Host") : std::string_view(head.authority);
  const std::uint16_t port = head.local_port;
  if (given.empty() && head.minor_version == 0 && head.values("Host").empty())
    return std::nullopt;  // HTTP/1.0 clients may omit Host; browsers never do
  if (names_here(given, head.local_address, port) || names_here(given, host_, port)) return std::nullopt;
  if (is_loopback(head.local_address)) {
    for (const std::string_view name : kLoopbackNames) {
      if (names_here(given, name, port)) return std::nullopt;
    }
  }
  for (const std::string& name : machine_names_) {
    if (names_here(given, name, port)) return std::nullopt;
  }
  if (key_.required() && key_.admits(head)) return std::nullopt;
  const bool is_listed =
      std::any_of(hosts_.begin(), hosts_.end(), [&](const std::string& listed) { return allows_host(listed, given); });
  if (is_listed) return std::nullopt;
  const std::string name = printable(given, 100);
  return AccessRefusal{
      421, "the Host \"" + name + "\" of this request is not a name of this server; start the server with --allowed-hosts " +
               (name.empty() ? "NAME" : name) + " (setting server/allowed_hosts) to allow it, or send the request to " +
               head.local_address + ":" + std::to_string(port)};
}

bool Access::lists_origin(std::string_view origin) const {
  return std::any_of(origins_.begin(), origins_.end(),
                     [&](const std::string& listed) { return allows_origin(listed, origin); });
}

std::optional<AccessRefusal> Access::check_origin(const http::RequestHead& head) const {
  const auto origins = head.values("Origin");
  if (origins.empty()) return std::nullopt;
  if (origins.size() == 1 && lists_origin(origins.front())) return std::nullopt;
  return AccessRefusal{
      403, "requests from web pages are refused unless their origin is one of the allowed origins (--allowed-origins)"};
}

std::optional<AccessRefusal> Access::check_key(const http::RequestHead& head) const {
  if (is_public_path(head.path) || key_.admits(head)) return std::nullopt;
  return AccessRefusal{401,
                       "the API key is missing or wrong; send it as \"Authorization: Bearer KEY\" or as \"x-api-key: KEY\""};
}

std::optional<AccessRefusal> Access::check_media_type(const http::RequestHead& head) {
  std::string_view type = head.value("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (equal_ignoring_case(type, "application/json")) return std::nullopt;
  return AccessRefusal{415, "the body must be JSON: send \"Content-Type: application/json\""};
}

std::optional<AccessRefusal> Access::check_content_coding(const http::RequestHead& head) {
  const auto codings = http::content_codings(head);
  if (codings) return std::nullopt;
  return AccessRefusal{
      415, printable(codings.error().message, 300), {{"Accept-Encoding", std::string(http::kContentCodings)}}};
}

bool Access::is_preflight(const http::RequestHead& head) const {
  return head.method == "OPTIONS" && lists_origin(head.value("Origin")) &&
         !head.value("Access-Control-Request-Method").empty();
}

std::vector<http::Field> Access::cors_fields(const http::RequestHead& head) const {
  if (origins_.empty()) return {};
  std::vector<http::Field> fields = {{"Vary", "Origin"}};
  if (const std::string_view origin = head.value("Origin"); lists_origin(origin)) {
    fields.push_back({"Access-Control-Allow-Origin", std::string(origin)});
  }
  return fields;
}

std::vector<http::Field> Access::preflight_fields(const http::RequestHead& head) {
  // All headers that a listed page asks for are allowed: client libraries send some of their own (X-Stainless-...).
  const std::string_view asked = head.value("Access-Control-Request-Headers");
  std::vector<http::Field> fields = {
      {"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
      {"Access-Control-Allow-Headers", asked.empty() ? "Authorization, Content-Type" : std::string(asked)},
      {"Access-Control-Max-Age", "600"}};
  // Browsers ask this before a page from the internet may reach this machine.
  if (equal_ignoring_case(head.value("Access-Control-Request-Private-Network"), "true")) {
    fields.push_back({"Access-Control-Allow-Private-Network", "true"});
  }
  return fields;
}

}  // namespace lathe::app
