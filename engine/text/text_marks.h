// SPDX-License-Identifier: Apache-2.0
// Positions of a text that follow its changes, so that a normalized text still says where a part of the original begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::engine {

/// Where a mark goes when a change replaces the characters around it: before what they become, or behind that.
enum class MarkSide : std::uint8_t { before, behind };

/// Units: bytes. Positions lie between characters.
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
    if (next_ == marks_.size()) return;
    while (next_ < marks_.size() && marks_[next_].position <= begin) shift(marks_[next_++]);
    for (; next_ < marks_.size() && marks_[next_].position < end; ++next_) {
      marks_[next_].position = marks_[next_].side == MarkSide::before ? new_begin : new_end;
    }
    grown_ = new_end - end;
  }

 private:
  /// Wraps around where the text became shorter, which the sum undoes.
  void shift(TextMarks::Mark& mark) const { mark.position += grown_; }

  std::vector<TextMarks::Mark>& marks_;
  std::size_t next_ = 0;
  std::size_t grown_ = 0;
};

}  // namespace lathe::engine
