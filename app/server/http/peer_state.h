// SPDX-License-Identifier: Apache-2.0
// PeerState: the state of a socket's other end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lathe::app::http {

enum class PeerState : std::uint8_t {
  open,
  /// The peer closed its sending side. It may still read (RFC 9112, 9.6): a socket that was closed completely looks the same
  /// until it receives data, which it answers with a reset.
  half_closed,
  gone,  ///< the peer reset the connection
};

/// Detects the end of the stream even after bytes that were not read yet.
PeerState peer_state(int socket);

/// Sends as much as the socket takes without waiting. Returns the number of bytes sent.
std::size_t send_now(int socket, std::string_view bytes);

}  // namespace lathe::app::http
