// SPDX-License-Identifier: Apache-2.0
#include "app/cli/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace lathe::app {

/// Reads more bytes; false when interrupted.
bool LineReader::fill() {
  std::array<pollfd, 2> descriptors{pollfd{fd_, POLLIN, 0}, pollfd{interrupt_fd_, POLLIN, 0}};
  if (::poll(descriptors.data(), descriptors.size(), -1) < 0) return errno == EINTR;
  if (descriptors[1].revents != 0) return false;
  std::array<char, 65536> bytes;  // uninitialized: most reads fill little of it
  const ssize_t n = ::read(fd_, bytes.data(), bytes.size());
  if (n > 0) buffer_.append(bytes.data(), static_cast<std::size_t>(n));
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN)) at_end_ = true;
  return true;
}

std::optional<std::string> LineReader::next() {
  while (true) {
    const std::size_t end = buffer_.find('\n', n_searched_);
    n_searched_ = end == std::string::npos ? buffer_.size() : 0;
    if (end != std::string::npos) {
      std::string line = buffer_.substr(0, end);
      buffer_.erase(0, end + 1);
      if (line.ends_with('\r')) line.pop_back();
      return line;
    }
    if (at_end_) return buffer_.empty() ? std::nullopt : std::optional(std::exchange(buffer_, {}));
    if (!fill()) return std::nullopt;
  }
}

std::optional<std::string> LineReader::rest(std::size_t max_bytes) {
  while (!at_end_ && buffer_.size() <= max_bytes) {
    if (!fill()) return std::nullopt;
  }
  n_searched_ = 0;
  return std::exchange(buffer_, {});
}

}  // namespace lathe::app
