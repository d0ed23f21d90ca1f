// SPDX-License-Identifier: Apache-2.0
// CodeTracker: whether a Markdown text that comes byte by byte is in a fenced code block or a code span.
// Source: CommonMark 0.31, 4.5, 5.1, 5.2 and 6.1; a code span is looked for on one line. Within a list a fence may be
// indented further than CommonMark allows, as models do.
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

  /// Whether a marker that comes now is in a fenced block, or on the line that opens one. Behind a closing fence it is not.
  bool marker_in_fence() const { return fence_size_ > 0 ? !ends_fence() : opens_fence(); }
  /// A marker that is in no fenced block comes now: right behind a closing fence it ends that line.
  void end_closed_fence();
  /// Length of the run of backticks that is open on this line; 0: none.
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

  Phase phase_ = Phase::front;
  char run_ = 0;                  ///< the character of the run at the front of the line
  std::size_t column_ = 0;        ///< of the front; of the run, once it has begun
  std::size_t quote_column_ = 0;  ///< of the text in the quotes of this line
  std::size_t n_quotes_ = 0, n_digits_ = 0, run_size_ = 0;
  std::size_t mark_end_ = 0;   ///< behind the mark of an item whose text has not begun; 0: there is none
  bool behind_blank_ = false;  ///< the line before was blank
  std::vector<Item> items_;    ///< each in the one before
  char fence_ = 0;
  std::size_t fence_size_ = 0;  ///< of the fence that opened the block; 0: no block is open
  std::size_t fence_quotes_ = 0;
  std::size_t fence_limit_ = 0;  ///< the last column in which a fence closes the block
  std::size_t ticks_ = 0;        ///< backticks of the run that goes on
  std::size_t span_ = 0;         ///< of the run that opened the code span; 0: none is open
  bool escaped_ = false;         ///< the character before was a backslash that counts
};

}  // namespace lathe::engine
