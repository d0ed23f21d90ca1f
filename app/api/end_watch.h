// SPDX-License-Identifier: Apache-2.0
// EndWatch: a limit on the time that a program takes to end.
#pragma once

#include <chrono>
#include <thread>

namespace lathe::app {

/// How long the orderly end of a program may take. Together with what _Exit itself needs that is below 5 s.
inline constexpr std::chrono::milliseconds kLongestEnd{4'500};

/// Requires: made before, and so destroyed after, whatever may hang: a step of the model, a template, a disk that does not
/// answer. Nothing is lost by its _Exit: each line of the log, each change of the history and each answer that was sent has
/// been written when it was made, and settings within a second.
class EndWatch {
 public:
  /// The end has begun: unless this object goes within `time`, the process does, with `code`. Only the first call counts.
  void begin(std::chrono::milliseconds time, int code);

 private:
  std::jthread thread_;
};

}  // namespace lathe::app
