// SPDX-License-Identifier: Apache-2.0
// WakeSignal: carries a wake from any thread to that of a connection; many wakes before it arrives are one.
#pragma once

#include <atomic>
#include <functional>

namespace lathe::app::http {

struct WakeSignal {
  std::atomic<bool> posted{false};
  std::function<void()> arrived;  ///< Thread: the I/O thread
};

}  // namespace lathe::app::http
