// SPDX-License-Identifier: Apache-2.0
// CodeTracker: tells whether a Markdown text, read byte by byte, is inside a fenced code block or a code span. Source:
// CommonMark 0.31, 4.5 and 6.1; code spans are limited to one line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lathe::engine {

class CodeTracker {
 public:
  void push(char byte);
  /// Starts a new text: at the beginning of a line, with no open code.
  void reset() { *this = CodeTracker(); }

  /// Reports that a marker follows. Returns whether the marker is inside a fenced block, or on the line that opens one. A
  /// marker directly after a closing fence ends that line.
  bool marker_in_fence();
  /// Returns the length of the run of backticks that opened a code span on this line; 0: none.
  std::size_t open_span() const;
  /// Returns whether the last byte was a backtick that opens a code span.
  bool is_behind_backtick() const { return open_span() > 0 && (ticks_ > 0 || phase_ == Phase::run); }
  /// Closes the open code span.
  void close_span();

 private:
  enum class Phase : std::uint8_t {
    front,   ///< blanks, marks of quotes and of list items
    number,  ///< digits that may be the mark of a list item
    mark,    ///< behind what is such a mark if a blank follows
    run,
    info,
    text
  };
  /// An open list item.
  struct Item {
    std::size_t column = 0;    ///< of its text
    std::size_t n_quotes = 0;  ///< quotes around it
  };

  bool opens_fence() const { return fence_size_ == 0 && run_size_ >= 3 && (phase_ == Phase::run || phase_ == Phase::info); }
  bool closes_fence() const;
  bool leaves_quoted_fence() const { return phase_ == Phase::front && n_quotes_ < fence_quotes_; }
  bool ends_fence() const { return closes_fence() || leaves_quoted_fence(); }
  bool in_item() const { return !items_.empty() && items_.back().n_quotes == n_quotes_; }
  void end_line();
  void end_run();
  void push_front(char byte);
  void push_front_of_fence(char byte);
  void push_number(char byte);
  void push_mark(char byte);
  void push_run(char byte);
  void push_info(char byte);
  void push_text(char byte);
  void begin_run(char byte);
  void begin_text(char byte);
  void begin_quote();
  void open_item();
  void leave_items(char byte);

  Phase phase_ = Phase::indent;
  char run_ = 0;  ///< character of the run at the front of the line
  std::size_t indent_ = 0, run_size_ = 0;
  char fence_ = 0;
  std::size_t fence_size_ = 0;  ///< length of the fence that opened the block; 0: no block is open
  std::size_t ticks_ = 0;       ///< backticks of the current run
  std::size_t span_ = 0;        ///< length of the run that opened the code span; 0: none is open
  bool escaped_ = false;        ///< the previous character was a backslash that escapes
};

}  // namespace lathe::engine
