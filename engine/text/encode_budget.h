// SPDX-License-Identifier: Apache-2.0
// EncodeBudget: what one text may cost to encode, whatever the checkpoint's patterns and rules make of it.
#pragma once

#include <cstddef>

#include "engine/api/result.h"

namespace lathe::engine {

/// A tokenizer's patterns come from the checkpoint and may be made to explode, on any text or on one. Within the budget the
/// ids are the exact ones; beyond it encoding ends with an error, never with other ids.
/// Thread: one; the clock is that of the thread, so that other load on the machine does not count.
class EncodeBudget {
 public:
  /// For a text of so many bytes. The clock starts now.
  explicit EncodeBudget(std::size_t text_bytes);

  /// Errors: too_large when a text has grown to `n` bytes, more than may come of the original one.
  Result<void> check_bytes(std::size_t n) const;

  /// Cheap: looks at the clock at some of the calls only. Errors: too_large.
  Result<void> check_time();
  /// Units: seconds of the thread's own time; negative when it is spent. Looks at the clock.
  double seconds_left() const;
  /// What check_time answers when the time is spent.
  tl::unexpected<Error> out_of_time() const;

 private:
  std::size_t text_bytes_, max_bytes_;
  double seconds_, end_;  // of the thread's clock
  unsigned n_calls_ = 0;
};

}  // namespace lathe::engine
