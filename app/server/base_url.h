// SPDX-License-Identifier: Apache-2.0
// The URL under which this machine reaches a server.
#pragma once

#include <cstdint>
#include <string>

namespace lathe::app {

/// "http://127.0.0.1:8000"; IPv6 in brackets; a wildcard address is reached through loopback.
std::string base_url(const std::string& host, std::uint16_t port);

}  // namespace lathe::app
