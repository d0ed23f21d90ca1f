// SPDX-License-Identifier: Apache-2.0
// TextMarks: positions in a text that follow its changes, so that a normalized text still shows where a part of the original
// begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Direction in which a mark moves if a change covers it: before or after the result of the characters around it. A mark
/// after the first character follows that character's alignment in the tokenizers library.
enum class MarkSide : std::uint8_t { before, behind, behind_first };

/// Units: bytes. Positions are between characters.
class TextMarks {
 public:
  struct Mark {
    std::size_t position = 0;
    MarkSide side = MarkSide::before;
  };

  /// Requires: `position` is not smaller than that of the previous mark.
  void add(std::size_t position, MarkSide side) { marks_.push_back({position, side}); }
  bool empty() const { return marks_.empty(); }
  /// Returns the marks in the order in which they were added; changes of the text keep that order.
  const std::vector<Mark>& all() const { return marks_; }

 private:
  friend class MarkMoves;
  std::vector<Mark> marks_;
};

/// MarkMoves: moves the marks of a text while a changed copy of the text is written. Thread: one.
class MarkMoves {
 public:
  explicit MarkMoves(TextMarks& marks) : marks_(marks.marks_) {}
  MarkMoves(const MarkMoves&) = delete;
  MarkMoves& operator=(const MarkMoves&) = delete;
  ~MarkMoves() {
    while (next_ < marks_.size()) shift(marks_[next_++]);
  }

  /// Records that bytes [begin, end) of the text became [new_begin, new_end) of the copy. Requires: changes come in order,
  /// and between them the copy equals the text.
  void replaced(std::size_t begin, std::size_t end, std::size_t new_begin, std::size_t new_end) {
    move(begin, end, new_begin, new_end, new_end);
  }
  /// Records the replacement of one text by another: the tokenizers library treats the new text as inserted after the last
  /// character of the old one. Source: NormalizedString::replace.
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

  /// Moves a mark by grown_, which wraps around if the text became shorter; the sum undoes that.
  void shift(TextMarks::Mark& mark) const { mark.position += grown_; }

  std::vector<TextMarks::Mark>& marks_;
  std::size_t next_ = 0;
  std::size_t grown_ = 0;
};

}  // namespace lathe::engine
