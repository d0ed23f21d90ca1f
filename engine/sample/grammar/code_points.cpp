// SPDX-License-Identifier: Apache-2.0
#include "engine/sample/grammar/code_points.h"

#include <algorithm>

namespace lathe::engine::grammar {

CodePointSet::CodePointSet(std::initializer_list<CodePointRange> ranges) {
  for (const CodePointRange& range : ranges) add(range.first, range.last);
}

void CodePointSet::add(char32_t first, char32_t last) {
  if (first > last) return;
  auto begin = std::find_if(ranges_.begin(), ranges_.end(), [&](const auto& range) { return range.last + 1 >= first; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  begin = ranges_.erase(begin, end);
  ranges_.insert(begin, {first, last});
}

void CodePointSet::add(const CodePointSet& other) {
  for (const CodePointRange& range : other.ranges_) add(range.first, range.last);
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  for (const CodePointRange& range : ranges_) {
    if (range.first > next) out.ranges_.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.ranges_.push_back({next, kLastCodePoint});
  return out;
}

CodePointSet CodePointSet::intersect(const CodePointSet& other) const {
  CodePointSet out;
  auto a = ranges_.begin();
  auto b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    const char32_t first = std::max(a->first, b->first), last = std::min(a->last, b->last);
    if (first <= last) out.ranges_.push_back({first, last});
    a->last < b->last ? ++a : ++b;
  }
  return out;
}

bool CodePointSet::contains(char32_t code_point) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                                      [](char32_t value, const auto& range) { return value < range.first; });
  return after != ranges_.begin() && std::prev(after)->last >= code_point;
}

namespace {

constexpr std::array<char32_t, 4> kLastOfLength = {0x7F, 0x7FF, 0xFFFF, kLastCodePoint};
constexpr std::array<std::uint8_t, 4> kLead = {0x00, 0xC0, 0xE0, 0xF0};

std::array<std::uint8_t, 4> encoded(char32_t code_point, int n_bytes) {
  std::array<std::uint8_t, 4> bytes{};
  for (int i = n_bytes - 1; i > 0; --i) {
    bytes[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(0x80 | (code_point & 0x3F));
    code_point >>= 6;
  }
  bytes[0] = static_cast<std::uint8_t>(kLead[static_cast<std::size_t>(n_bytes - 1)] | code_point);
  return bytes;
}

/// Splits a range of code points of one length until each byte has a range that does not depend on the others.
void split(char32_t first, char32_t last, int n_bytes, std::vector<Utf8Sequence>& out) {
  for (int i = 1; i < n_bytes; ++i) {
    const char32_t mask = (char32_t{1} << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      split(first, first | mask, n_bytes, out);
      return split((first | mask) + 1, last, n_bytes, out);
    }
    if ((last & mask) != mask) {
      split(first, (last & ~mask) - 1, n_bytes, out);
      return split(last & ~mask, last, n_bytes, out);
    }
  }
  out.push_back({.n_bytes = n_bytes, .first = encoded(first, n_bytes), .last = encoded(last, n_bytes)});
}

}  // namespace

std::vector<Utf8Sequence> utf8_sequences(const CodePointSet& set) {
  std::vector<Utf8Sequence> out;
  const CodePointSet scalars = set.without({{kFirstSurrogate, kLastSurrogate}});
  for (const CodePointRange& range : scalars.ranges()) {
    char32_t first = range.first;
    for (int length = 1; length <= 4 && first <= range.last; ++length) {
      const char32_t bound = kLastOfLength[static_cast<std::size_t>(length - 1)];
      if (first > bound) continue;
      const char32_t last = std::min(range.last, bound);
      split(first, last, length, out);
      first = last + 1;
    }
  }
  return out;
}

}  // namespace lathe::engine::grammar
