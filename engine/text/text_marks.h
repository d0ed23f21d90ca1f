// SPDX-License-Identifier: Apache-2.0
// Positions of a text that follow its changes, so that a normalized text still says where a part of the original begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Where a mark goes when a change covers it: before what the characters around it become, or behind that. A mark behind the
/// first character goes as the alignment of that character in the tokenizers library does.
enum class MarkSide : std::uint8_t { before, behind, behind_first };

/// Units: bytes. Positions are between characters.
class TextMarks {
 public:
  struct Mark {
    std::size_t position = 0;
    MarkSide side = MarkSide::before;
  };

  /// Requires: no smaller position than that of the mark before.
  void add(std::size_t position, MarkSide side) { marks_.push_back({position, side}); }
  bool empty() const { return marks_.empty(); }
  /// In the order in which they were added, which no change disturbs.
  const std::vector<Mark>& all() const { return marks_; }

 private:
  friend class MarkMoves;
  std::vector<Mark> marks_;
};

/// Moves the marks of a text while a changed copy of it is written. Thread: one.
class MarkMoves {
 public:
  explicit MarkMoves(TextMarks& marks) : marks_(marks.marks_) {}
  MarkMoves(const MarkMoves&) = delete;
  MarkMoves& operator=(const MarkMoves&) = delete;
  ~MarkMoves() {
    while (next_ < marks_.size()) shift(marks_[next_++]);
  }

  /// Bytes [begin, end) of the text became [new_begin, new_end) of the copy. Requires: changes in order; between them the
  /// copy is as the text.
  void replaced(std::size_t begin, std::size_t end, std::size_t new_begin, std::size_t new_end) {
    move(begin, end, new_begin, new_end, new_end);
  }
  /// The same of a text that replaces another one: the library counts it as inserted behind the last character of that text.
  /// Source: NormalizedString::replace.
  void put_in(std::size_t begin, std::size_t end, std::size_t new_begin, std::size_t new_end) {
    move(begin, end, new_begin, new_end, new_begin);
  }

 private:
  void move(std::size_t begin, std::size_t end, std::size_t new_begin, std::size_t new_end, std::size_t first_goes) {
    if (next_ == marks_.size()) return;
    while (next_ < marks_.size() && marks_[next_].position <= begin) shift(marks_[next_++]);
    for (; next_ < marks_.size() && marks_[next_].position < end; ++next_) {
      TextMarks::Mark& mark = marks_[next_];
      mark.position = mark.side == MarkSide::before ? new_begin : mark.side == MarkSide::behind ? new_end : first_goes;
    }
    grown_ = new_end - end;
  }

  /// Wraps around where the text became shorter, which the sum undoes.
  void shift(TextMarks::Mark& mark) const { mark.position += grown_; }

  std::vector<TextMarks::Mark>& marks_;
  std::size_t next_ = 0;
  std::size_t grown_ = 0;
};

}  // namespace lathe::engine
