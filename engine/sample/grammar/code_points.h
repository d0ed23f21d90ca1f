// SPDX-License-Identifier: Apache-2.0
// CodePointSet: a set of Unicode scalar values, and its UTF-8 as sequences of byte ranges.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace lathe::engine::grammar {

inline constexpr char32_t kLastCodePoint = 0x10FFFF, kFirstSurrogate = 0xD800, kLastSurrogate = 0xDFFF;

struct CodePointRange {
  char32_t first = 0, last = 0;  ///< both included
  bool operator==(const CodePointRange&) const = default;
};

/// Invariant: the ranges ascend and do not touch one another. Surrogates may be in a set; UTF-8 leaves them out.
class CodePointSet {
 public:
  CodePointSet() = default;
  CodePointSet(std::initializer_list<CodePointRange> ranges);
  static CodePointSet all() { return {{0, kLastCodePoint}}; }

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  CodePointSet complement() const;
  CodePointSet intersect(const CodePointSet& other) const;
  CodePointSet without(const CodePointSet& other) const { return intersect(other.complement()); }
  bool contains(char32_t code_point) const;
  bool empty() const { return ranges_.empty(); }
  std::span<const CodePointRange> ranges() const { return ranges_; }
  bool operator==(const CodePointSet&) const = default;

 private:
  std::vector<CodePointRange> ranges_;
};

/// Sequences of one to four bytes, each from its range.
struct Utf8Sequence {
  int n_bytes = 0;
  std::array<std::uint8_t, 4> first{}, last{};
};
std::vector<Utf8Sequence> utf8_sequences(const CodePointSet& set);

}  // namespace lathe::engine::grammar
