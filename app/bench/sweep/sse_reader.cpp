// SPDX-License-Identifier: Apache-2.0
#include "app/bench/sweep/sse_reader.h"

#include <fmt/format.h>

namespace lathe::app {
namespace {

constexpr std::size_t kMostBytes = 4u << 20;

}  // namespace

engine::Result<std::vector<std::string>> SseReader::add(std::string_view bytes) {
  std::vector<std::string> events;
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
    if (line_.size() + data_.size() > kMostBytes) {
      return engine::fail(engine::ErrorCode::invalid_argument,
                          fmt::format("a server-sent event is longer than {} bytes", kMostBytes));
    }
  }
  return events;
}

void SseReader::take_line(std::vector<std::string>& events) {
  constexpr std::string_view kData = "data:";
  std::string_view line = line_;
  if (line.empty() && !data_.empty()) {
    data_.pop_back();
    events.push_back(std::move(data_));
    data_.clear();
  } else if (line.starts_with(kData)) {
    line.remove_prefix(kData.size());
    if (line.starts_with(' ')) line.remove_prefix(1);
    data_.append(line).push_back('\n');
  }
  line_.clear();
}

}  // namespace lathe::app
