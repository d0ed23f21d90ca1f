// SPDX-License-Identifier: Apache-2.0
// SseReader: server-sent events out of bytes that come in pieces of any size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct SseEvent {
  std::string type;  ///< of its "event" field; empty: "message"
  std::string data;  ///< lines joined by line ends
};

/// Source: WHATWG HTML, 9.2.6. Comments, events without data, and the fields id and retry are passed over.
class SseReader {
 public:
  /// Events that end in these bytes. Errors: invalid_argument when an event is longer than any that is meant.
  engine::Result<std::vector<SseEvent>> add(std::string_view bytes);
  /// The event that the end of the stream cut off; servers leave out the empty line behind the last one. Empty data: there
  /// is none.
  SseEvent rest();
  /// Whether nothing is left of an event that has begun.
  bool is_at_end() const { return line_.empty() && event_.data.empty(); }

 private:
  void take_line(std::vector<SseEvent>& events);
  void take_field(std::string_view line);

  std::string line_;  ///< so far
  SseEvent event_;    ///< so far; each line of its data has a line end
  bool after_cr_ = false, is_first_line_ = true;
};

}  // namespace lathe::app
