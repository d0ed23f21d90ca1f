// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/peer_state.h"

#include <poll.h>
#include <sys/socket.h>

namespace lathe::app::http {

PeerState peer_state(int socket) {
  pollfd state{socket, POLLRDHUP, 0};
  if (::poll(&state, 1, 0) <= 0) return PeerState::open;
  if ((state.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return PeerState::gone;
  return (state.revents & POLLRDHUP) != 0 ? PeerState::half_closed : PeerState::open;
}

std::size_t send_now(int socket, std::string_view bytes) {
  const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  return n > 0 ? static_cast<std::size_t>(n) : 0;
}

}  // namespace lathe::app::http
