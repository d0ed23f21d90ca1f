// SPDX-License-Identifier: Apache-2.0
// Whether the other end of a socket has closed its side.
#pragma once

namespace lathe::app::http {

/// True even when the end lies behind bytes that nobody has read yet.
bool hung_up(int socket);

}  // namespace lathe::app::http
