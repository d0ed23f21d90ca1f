// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/marked_text.h"

#include <algorithm>

namespace lathe::engine::jinja {

Source MarkedText::highest_source() const {
  Source highest = Source::model;
  for (const Run& run : runs_) highest = std::max(highest, run.source);
  return highest;
}

Source MarkedText::source_at(std::size_t offset) const {
  for (const Run& run : runs_) {
    if (offset < run.end) return run.source;
  }
  return Source::model;
}

void MarkedText::append(std::string_view text, Source source) {
  if (text.empty()) return;
  text_ += text;
  if (!runs_.empty() && runs_.back().source == source) {
    runs_.back().end = text_.size();
  } else {
    runs_.push_back({text_.size(), source});
  }
}

void MarkedText::append_part(const MarkedText& other, std::size_t begin, std::size_t end) {
  auto run = std::upper_bound(other.runs_.begin(), other.runs_.end(), begin,
                              [](std::size_t offset, const Run& candidate) { return offset < candidate.end; });
  for (; begin < end; ++run) {
    const std::size_t stop = std::min(end, run->end);
    append(std::string_view(other.text_).substr(begin, stop - begin), run->source);
    begin = stop;
  }
}

MarkedText MarkedText::part(std::size_t begin, std::size_t end) const {
  MarkedText out;
  out.append_part(*this, begin, end);
  return out;
}

}  // namespace lathe::engine::jinja
