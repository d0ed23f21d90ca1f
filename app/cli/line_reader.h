// SPDX-License-Identifier: Apache-2.0
// LineReader: reads lines from a descriptor, until its end or until another descriptor becomes readable.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace lathe::app {

class LineReader {
 public:
  LineReader(int fd, int interrupt_fd) : fd_(fd), interrupt_fd_(interrupt_fd) {}

  /// Returns the next line without its line end, which the last line may lack. Nothing at the end, or when interrupt_fd
  /// became readable.
  std::optional<std::string> next();
  /// Returns all remaining bytes unchanged; if there are more than `max_bytes`, only somewhat more than that. Nothing when
  /// interrupt_fd became readable.
  std::optional<std::string> rest(std::size_t max_bytes);

 private:
  bool fill();

  const int fd_, interrupt_fd_;
  std::string buffer_;
  std::size_t n_searched_ = 0;  ///< bytes at the front of the buffer that have no line end
  bool at_end_ = false;
};

}  // namespace lathe::app
