// SPDX-License-Identifier: Apache-2.0
// CodeTracker: whether a Markdown text that comes byte by byte is in a fenced code block or a code span.
// Source: CommonMark 0.31, 4.5 and 6.1; a code span is looked for on one line.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe::engine {

class CodeTracker {
 public:
  void push(char byte);
  /// A new text begins here: a line begins, and nothing is open.
  void reset() { *this = CodeTracker(); }

  /// A marker comes now. Whether it is in a fenced block, or on the line that opens one. A marker right behind a closing
  /// fence ends that line.
  bool marker_in_fence();
  /// Length of the run of backticks that is open on this line; 0: none.
  std::size_t open_span() const;
  /// Whether the last byte was a backtick that opens a code span.
  bool is_behind_backtick() const { return open_span() > 0 && (ticks_ > 0 || phase_ == Phase::run); }
  /// Closes the open code span.
  void close_span();

 private:
  enum class Phase : std::uint8_t { indent, run, info, text };

  bool opens_fence() const { return fence_size_ == 0 && run_size_ >= 3 && (phase_ == Phase::run || phase_ == Phase::info); }
  bool closes_fence() const;
  void end_line();
  void end_run();
  void push_run(char byte);
  void push_text(char byte);

  Phase phase_ = Phase::indent;
  char run_ = 0;  ///< the character of the run at the front of the line
  std::size_t indent_ = 0, run_size_ = 0;
  char fence_ = 0;
  std::size_t fence_size_ = 0;  ///< of the fence that opened the block; 0: no block is open
  std::size_t ticks_ = 0;       ///< backticks of the run that goes on
  std::size_t span_ = 0;        ///< of the run that opened the code span; 0: none is open
  bool escaped_ = false;        ///< the character before was a backslash that counts
};

}  // namespace lathe::engine
