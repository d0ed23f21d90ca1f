// SPDX-License-Identifier: Apache-2.0
#include "engine/text/template/runtime/marked_text.h"

#include <algorithm>

namespace lathe::engine::jinja {

Source MarkedText::source_at(std::size_t offset) const {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), offset,
                                    [](std::size_t at, const Run& candidate) { return at < candidate.end; });
  return run == runs_.end() ? Source::model : run->source;
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
