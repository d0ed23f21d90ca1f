// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/load/sse_reader.h"

#include <fmt/format.h>

#include <utility>

namespace lathe::app {
namespace {

constexpr std::size_t kMostBytes = 4u << 20;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

engine::Result<std::vector<SseEvent>> SseReader::add(std::string_view bytes) {
  std::vector<SseEvent> events;
  for (const char c : bytes) {
    if (c == '\n' && after_cr_) {
      after_cr_ = false;
      continue;
    }
    after_cr_ = c == '\r';
    if (c == '\r' || c == '\n') {
      take_line(events);
    } else {
      line_ += c;
    }
    if (line_.size() + event_.data.size() > kMostBytes) {
      return engine::fail(engine::ErrorCode::invalid_argument,
                          fmt::format("a server-sent event is longer than {} bytes", kMostBytes));
    }
  }
  return events;
}

SseEvent SseReader::rest() {
  take_field(line_);
  line_.clear();
  if (!event_.data.empty()) event_.data.pop_back();
  return std::exchange(event_, {});
}

void SseReader::take_line(std::vector<SseEvent>& events) {
  if (std::exchange(is_first_line_, false) && line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
  if (!line_.empty()) {
    take_field(line_);
  } else {
    if (!event_.data.empty()) {
      event_.data.pop_back();
      if (!event_.data.empty()) events.push_back(std::move(event_));
    }
    event_ = {};
  }
  line_.clear();
}

void SseReader::take_field(std::string_view line) {
  const std::string_view name = line.substr(0, line.find(':'));
  std::string_view value = line.substr(std::min(name.size() + 1, line.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "data") event_.data.append(value).push_back('\n');
  if (name == "event") event_.type = value;
}

}  // namespace lathe::app
