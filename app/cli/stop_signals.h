// SPDX-License-Identifier: Apache-2.0
// StopSignals: makes SIGINT and SIGTERM a state that is polled, without a handler; works with any number of threads.
#pragma once

#include <csignal>

#include <chrono>

namespace lathe::app {

/// Blocks both signals in this thread, and in threads that it starts later, until it is destroyed. Requires: created before
/// other threads.
class StopSignals {
 public:
  StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;
  ~StopSignals();

  /// True if a signal came since the last forget(). Once the first is seen, a second ends the program at once, in case it
  /// hangs.
  bool requested() { return wait(std::chrono::milliseconds(0)); }
  /// Like requested(), but waits up to `timeout`; a negative timeout waits for ever.
  bool wait(std::chrono::milliseconds timeout);
  /// Resets the state, for a program that goes on after Ctrl+C.
  void forget();
  int fd() const { return fd_; }  ///< readable when a signal is pending

 private:
  sigset_t ours_{}, before_{};
  int fd_ = -1;
  bool requested_ = false;
};

}  // namespace lathe::app
