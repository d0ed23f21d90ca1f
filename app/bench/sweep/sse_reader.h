// SPDX-License-Identifier: Apache-2.0
// SseReader: the data of server-sent events out of bytes that come in pieces of any size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// Source: WHATWG HTML, 9.2.6. Comments and fields other than data are passed over.
class SseReader {
 public:
  /// Data of the events that end in these bytes. Errors: invalid_argument when an event is longer than any that is meant.
  engine::Result<std::vector<std::string>> add(std::string_view bytes);
  /// Whether nothing is left of an event that has begun.
  bool is_at_end() const { return line_.empty() && data_.empty(); }

 private:
  void take_line(std::vector<std::string>& events);

  std::string line_;  ///< so far
  std::string data_;  ///< of the event so far, each line with its end
  bool after_cr_ = false;
};

}  // namespace lathe::app
