// SPDX-License-Identifier: Apache-2.0
// PeerState: what the other end of a socket has closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lathe::app::http {

enum class PeerState : std::uint8_t {
  open,
  /// Its sending side is closed. That alone does not say whether it still reads (RFC 9112, 9.6): a socket that was closed
  /// altogether looks the same until it is sent something, which it answers with a reset.
  half_closed,
  gone,  ///< reset
};

/// Sees an end that lies behind bytes that nobody has read yet.
PeerState peer_state(int socket);

/// Sends what the socket takes without waiting. Returns the number of bytes that it took.
std::size_t send_now(int socket, std::string_view bytes);

}  // namespace lathe::app::http
