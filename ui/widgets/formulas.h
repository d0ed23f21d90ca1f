// SPDX-License-Identifier: GPL-3.0-or-later
// Formulas in a text: \(..\), \[..\], $..$ and $$..$$, as opposed to prices and names of variables.
#pragma once

#include <QStringView>
#include <optional>

namespace lathe::ui {

/// A formula from `begin` to `end`, its delimiters included.
struct FormulaSpan {
  qsizetype begin = 0, end = 0;
  bool closed = true;
};

/// Finds formulas one after another. The text is looked through once: a search for an end that is not there is not repeated.
class FormulaFinder {
 public:
  explicit FormulaFinder(QStringView text) : text_(text) {}

  /// The formula that begins at `position`, which must not be less than in the call before, and ends before `wall` (code).
  /// One that is never closed is a formula up to the end of the text, in the last paragraph alone: the reply is still
  /// written, or was cut.
  std::optional<FormulaSpan> at(qsizetype position, qsizetype wall);

 private:
  enum Kind { round, square, double_dollar, n_kinds };

  std::optional<FormulaSpan> bracketed(qsizetype position, qsizetype wall, Kind kind);
  std::optional<FormulaSpan> single_dollar(qsizetype position, qsizetype wall) const;
  /// Position of the first end in `from` to `limit`; -1: none.
  qsizetype find_close(qsizetype from, qsizetype limit, Kind kind);
  qsizetype paragraph_end(qsizetype position);
  bool opens_line(qsizetype position) const;

  QStringView text_;
  qsizetype paragraph_end_ = 0;
  qsizetype none_before_[n_kinds] = {0, 0, 0};  ///< no end of this kind up to here
};

}  // namespace lathe::ui
