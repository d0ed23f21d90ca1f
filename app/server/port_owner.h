// SPDX-License-Identifier: Apache-2.0
// Finds the process that listens on a TCP port of this machine, and a free port.
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
/// Returns nothing if no process listens, or if its owner is hidden from this user.
std::optional<PortOwner> find_port_owner(std::uint16_t port);

/// Returns the first port from `first` upwards on which `host` could listen now; 0: none among the next 200.
std::uint16_t find_free_port(const std::string& host, std::uint16_t first);

}  // namespace lathe::app
