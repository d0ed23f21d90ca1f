// SPDX-License-Identifier: Apache-2.0
// EndWatch: a limit on the time that a program takes to exit.
#pragma once

#include <chrono>
#include <thread>

namespace lathe::app {

/// Longest orderly exit of a program. With the time of _Exit itself the total is below 5 s.
inline constexpr std::chrono::milliseconds kLongestEnd{4'500};

/// A timer that ends the process with _Exit. _Exit loses nothing: each line of the log, each change of the history and each
/// sent answer was written immediately, and settings are written within a second.
/// Requires: constructed before, and so destroyed after, everything that may hang: a step of the model, a template, a disk
/// that does not respond.
class EndWatch {
 public:
  /// Starts the timer: unless this object is destroyed within `time`, the process exits with `code`. Only the first call
  /// counts.
  void begin(std::chrono::milliseconds time, int code);

 private:
  std::jthread thread_;
};

}  // namespace lathe::app
