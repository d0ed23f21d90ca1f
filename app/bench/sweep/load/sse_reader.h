// SPDX-License-Identifier: Apache-2.0
// SseReader: parses server-sent events from bytes that arrive in pieces of any size.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct SseEvent {
  std::string type;  ///< value of the "event" field; empty: "message"
  std::string data;  ///< lines of data, joined by line feeds
};

/// Skips comments, events without data, and the fields id and retry. Source: WHATWG HTML, 9.2.6.
class SseReader {
 public:
  /// Returns the events that these bytes complete. Errors: invalid_argument if an event is longer than the limit.
  engine::Result<std::vector<SseEvent>> add(std::string_view bytes);
  /// Returns the event that the end of the stream cut off: some servers omit the empty line after the last event. Empty
  /// data: there is none.
  SseEvent rest();
  /// True if no event has begun that is not complete.
  bool is_at_end() const { return line_.empty() && event_.data.empty(); }

 private:
  void take_line(std::vector<SseEvent>& events);
  void take_field(std::string_view line);

  std::string line_;  ///< incomplete line
  SseEvent event_;    ///< incomplete event; each line of its data ends with a line feed
  bool after_cr_ = false, is_first_line_ = true;
};

}  // namespace lathe::app
