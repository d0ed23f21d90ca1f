// SPDX-License-Identifier: Apache-2.0
// Formats a server's address as a URL.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::app {

/// Returns the address itself, IPv6 in brackets: "http://0.0.0.0:8000".
std::string address_url(const std::string& host, std::uint16_t port);
/// Returns the URL under which this machine reaches the server: loopback in place of a wildcard address.
std::string base_url(const std::string& host, std::uint16_t port);

}  // namespace lathe::app
