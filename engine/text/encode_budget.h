// SPDX-License-Identifier: Apache-2.0
// EncodeBudget: the limit of time and bytes for encoding one text, whatever patterns and rules the checkpoint has.
#pragma once

#include <cstddef>

#include "engine/api/result.h"

namespace lathe::engine {

/// A tokenizer's patterns come from the checkpoint and may have been written to take exponential time on some or all texts.
/// Within the budget the ids are the exact ones; beyond it encoding ends with an error, never with other ids.
/// Thread: one; the clock counts the CPU time of that thread, so that other load on the machine does not count.
class EncodeBudget {
 public:
  /// Starts the budget, and its clock, for a text of `text_bytes` bytes.
  explicit EncodeBudget(std::size_t text_bytes);

  /// Errors: too_large if the text has grown to `n` bytes, which exceeds the limit for its original length.
  Result<void> check_bytes(std::size_t n) const;

  /// Reads the clock only at some calls, so it is cheap. Errors: too_large if the time is spent.
  Result<void> check_time();
  /// Reads the clock. Units: seconds of the thread's CPU time; negative if the time is spent.
  double seconds_left() const;
  /// Returns the error of check_time() for a spent budget.
  tl::unexpected<Error> out_of_time() const;

 private:
  std::size_t text_bytes_, max_bytes_;
  double seconds_, end_;  // seconds of the thread's CPU clock
  unsigned n_calls_ = 0;
};

}  // namespace lathe::engine
