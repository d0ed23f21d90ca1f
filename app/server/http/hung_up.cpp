// SPDX-License-Identifier: Apache-2.0
#include "app/server/http/hung_up.h"

#include <poll.h>

namespace lathe::app::http {

bool hung_up(int socket) {
  pollfd state{socket, POLLRDHUP, 0};
  return ::poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

}  // namespace lathe::app::http
