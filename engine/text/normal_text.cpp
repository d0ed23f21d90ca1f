// SPDX-License-Identifier: Apache-2.0
#include "engine/text/normal_text.h"

#include <algorithm>

#include "engine/base/utf8.h"

namespace lathe::engine {
namespace {

/// Returns the ranges that intersect a part, as byte indices of the part.
std::vector<TextRange> ranges_inside(const PlainPart& part) {
  std::vector<TextRange> inside;
  const std::size_t part_end = part.begin + part.text.size();
  for (const TextRange range : part.special_allowed) {
    const std::size_t begin = std::max(range.begin, part.begin), end = std::min(range.end, part_end);
    if (begin < end) inside.push_back({begin - part.begin, end - part.begin});
  }
  return inside;
}

}  // namespace

NormalText::NormalText(const PlainPart& part, bool keeps_ranges) {
  const bool is_valid = is_valid_utf8(part.text);
  text_ = is_valid ? std::string(part.text) : repaired_utf8(part.text);
  std::vector<TextRange> ranges;
  if (keeps_ranges) ranges = ranges_inside(part);
  if (!is_valid) {
    // Repaired bytes change the ends of ranges, so only a range over the whole part is kept.
    const bool has_whole = ranges.size() == 1 && ranges[0].begin == 0 && ranges[0].end == part.text.size();
    ranges = has_whole ? std::vector{TextRange{0, text_.size()}} : std::vector<TextRange>();
  }
  const bool has_front = part.at_start() && !text_.empty();
  const std::size_t front = has_front ? read_utf8(text_, 0).size : 0;
  const auto add_front = [&](std::size_t before) {
    if (!has_front || front_ != kNoMark || front > before) return;
    front_ = marks_.all().size();
    marks_.add(front, MarkSide::behind_first);
  };
  for (const TextRange range : ranges) {
    add_front(range.begin);
    marks_.add(range.begin, MarkSide::behind);
    add_front(range.end);
    marks_.add(range.end, MarkSide::before);
  }
  add_front(text_.size());
}

Result<void> NormalText::apply(const Normalizer* normalizer, EncodeBudget& budget) {
  return normalizer != nullptr ? normalizer->apply(text_, marks_, budget) : Result<void>();
}

bool NormalText::at_start() const { return front_ != kNoMark && marks_.all()[front_].position > 0; }

std::vector<TextRange> NormalText::special_allowed() const {
  std::vector<std::size_t> ends;
  for (std::size_t i = 0; i < marks_.all().size(); ++i) {
    if (i != front_) ends.push_back(marks_.all()[i].position);
  }
  std::vector<TextRange> ranges;
  for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
    if (ends[i] < ends[i + 1]) ranges.push_back({ends[i], ends[i + 1]});
  }
  return ranges;
}

}  // namespace lathe::engine
