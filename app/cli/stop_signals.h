// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as something to ask for instead of a handler: works with any number of threads.
#pragma once

#include <csignal>

#include <chrono>

namespace lathe::app {

/// Blocks both signals from here on, in this thread and those that it starts, until it is destroyed.
/// Requires: made before other threads are.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// Whether one came since the last forget(). From the first on, a second one ends the program at once, in case it hangs.
  bool requested() { return wait(std::chrono::milliseconds(0)); }
  /// The same, waiting up to `timeout` for one; a negative timeout waits for ever.
  bool wait(std::chrono::milliseconds timeout);
  /// Starts over, for a program that stays after Ctrl+C.
  void forget();
  int fd() const { return fd_; }  ///< readable when a signal is there

 private:
  sigset_t ours_{}, before_{};
  int fd_ = -1;
  bool requested_ = false;
};

}  // namespace lathe::app
