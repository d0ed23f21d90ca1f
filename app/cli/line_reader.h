// SPDX-License-Identifier: Apache-2.0
// Lines from a descriptor, until its end or until another descriptor becomes readable.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lathe::app {

class LineReader {
 public:
  LineReader(int fd, int interrupt_fd) : fd_(fd), interrupt_fd_(interrupt_fd) {}

  /// The next line without its end; the last one may lack it. None at the end, or when interrupt_fd became readable.
  std::optional<std::string> next();
  /// All that is left, as it is; somewhat more than `max_bytes` when there is more. None when interrupt_fd became readable.
  std::optional<std::string> rest(std::size_t max_bytes);

 private:
  bool fill();

  const int fd_, interrupt_fd_;
  std::string buffer_;
  std::size_t n_searched_ = 0;  ///< bytes at its front without a line's end
  bool at_end_ = false;
};

}  // namespace lathe::app
