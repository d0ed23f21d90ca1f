// SPDX-License-Identifier: Apache-2.0
#include "app/server/port_owner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace lathe::app {
namespace {

namespace fs = std::filesystem;

/// Adds the inodes of sockets that listen on the port, from one of the kernel's tables.
void add_listening_inodes(const char* table, std::uint16_t port, std::vector<std::string>& inodes) {
  constexpr std::string_view listening = "0A";
  std::ifstream file(table);
  std::string line;
  std::getline(file, line);  // column headers
  while (std::getline(file, line)) {
    std::istringstream columns(line);
    std::string slot, local, remote, state, queues, timer, retransmits, uid, timeout, inode;
    columns >> slot >> local >> remote >> state >> queues >> timer >> retransmits >> uid >> timeout >> inode;
    const std::size_t colon = local.rfind(':');
    unsigned number = 0;
    if (colon == local.npos || state != listening) continue;
    std::from_chars(local.data() + colon + 1, local.data() + local.size(), number, 16);
    if (number == port) inodes.push_back("socket:[" + inode + "]");
  }
}

bool holds_any(const fs::path& descriptors, const std::vector<std::string>& sockets) {
  std::error_code error;
  for (fs::directory_iterator entry(descriptors, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code unreadable;
    const std::string target = fs::read_symlink(entry->path(), unreadable).string();
    if (!unreadable && std::find(sockets.begin(), sockets.end(), target) != sockets.end()) return true;
  }
  return false;
}

bool can_listen(const std::string& host, std::uint16_t port) {
  const bool v6 = host.find(':') != host.npos;
  const int socket = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  int failed = -1;
  if (v6) {
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_port = htons(port);
    if (::inet_pton(AF_INET6, host.c_str(), &address.sin6_addr) == 1)
      failed = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    const std::string numeric = host == "localhost" ? "127.0.0.1" : host;
    if (::inet_pton(AF_INET, numeric.c_str(), &address.sin_addr) == 1)
      failed = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
  const bool free = failed == 0 && ::listen(socket, 1) == 0;
  ::close(socket);
  return free;
}

}  // namespace

std::optional<PortOwner> find_port_owner(std::uint16_t port) {
  std::vector<std::string> sockets;
  add_listening_inodes("/proc/net/tcp", port, sockets);
  add_listening_inodes("/proc/net/tcp6", port, sockets);
  if (sockets.empty()) return std::nullopt;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    int pid = 0;
    if (const auto [rest, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
        bad != std::errc() || rest != name.data() + name.size())
      continue;
    if (!holds_any(entry->path() / "fd", sockets)) continue;
    PortOwner owner{{}, pid};
    std::ifstream command(entry->path() / "comm");
    std::getline(command, owner.name);
    return owner;
  }
  return std::nullopt;
}

std::uint16_t find_free_port(const std::string& host, std::uint16_t first) {
  constexpr unsigned tries = 200;
  for (unsigned port = first; port < first + tries && port <= 65535; ++port) {
    if (can_listen(host, static_cast<std::uint16_t>(port))) return static_cast<std::uint16_t>(port);
  }
  return 0;
}

}  // namespace lathe::app
