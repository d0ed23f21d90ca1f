// SPDX-License-Identifier: Apache-2.0
#include "engine/base/clock.h"

#include <chrono>

namespace lathe::engine {

std::int64_t SteadyClock::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lathe::engine
