// SPDX-License-Identifier: Apache-2.0
// Who listens on a TCP port of this machine, and which port is free.
// Source: proc(5), /proc/net/tcp and /proc/<pid>/fd.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::app {

struct PortOwner {
  std::string name;  ///< "python"
  int pid = 0;
};
/// None when nobody listens, or when the process is not ours to see.
std::optional<PortOwner> find_port_owner(std::uint16_t port);

/// The first port from `first` upwards on which `host` could listen now; 0: none among the next 200.
std::uint16_t find_free_port(const std::string& host, std::uint16_t first);

}  // namespace lathe::app
