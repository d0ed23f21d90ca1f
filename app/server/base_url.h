// SPDX-License-Identifier: Apache-2.0
// A server's address as a URL.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::app {

/// "http://0.0.0.0:8000": the address itself, IPv6 in brackets.
std::string address_url(const std::string& host, std::uint16_t port);
/// The URL under which this machine reaches it: a wildcard address through loopback.
std::string base_url(const std::string& host, std::uint16_t port);

}  // namespace lathe::app
