// SPDX-License-Identifier: Apache-2.0
#include "app/server/base_url.h"

#include <fmt/format.h>

namespace lathe::app {

std::string address_url(const std::string& host, std::uint16_t port) {
  const bool bare_v6 = host.find(':') != std::string::npos && !host.starts_with('[');
  return bare_v6 ? fmt::format("http://[{}]:{}", host, port) : fmt::format("http://{}:{}", host, port);
}

std::string base_url(const std::string& host, std::uint16_t port) {
  return address_url(host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host, port);
}

}  // namespace lathe::app
