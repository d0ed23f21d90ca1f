// SPDX-License-Identifier: GPL-3.0-or-later
// Formulas: finds \(..\), \[..\], $..$ and $$..$$ in a text, as opposed to prices and names of variables.
#pragma once

#include <QStringView>
#include <optional>

namespace lathe::ui {

/// A formula from `begin` to `end`, its delimiters included.
struct FormulaSpan {
  qsizetype begin = 0, end = 0;
  bool closed = true;
};

/// Finds formulas one after another, in one pass over the text: a search for a missing end is not repeated.
class FormulaFinder {
 public:
  explicit FormulaFinder(QStringView text) : text_(text) {}

  /// The formula that begins at `position`, which must not be less than in the previous call, and ends before `wall` (code).
  /// An unclosed formula is one up to the end of the text, but only in the last paragraph: the reply is still being written,
  /// or was cut off.
  std::optional<FormulaSpan> at(qsizetype position, qsizetype wall);

 private:
  enum Kind { round, square, double_dollar, n_kinds };

  std::optional<FormulaSpan> bracketed(qsizetype position, qsizetype wall, Kind kind);
  std::optional<FormulaSpan> single_dollar(qsizetype position, qsizetype wall) const;
  /// Position of the first closing delimiter from `from` to `limit`; -1: none.
  qsizetype find_close(qsizetype from, qsizetype limit, Kind kind);
  qsizetype paragraph_end(qsizetype position);
  bool opens_line(qsizetype position) const;

  QStringView text_;
  qsizetype paragraph_end_ = 0;
  qsizetype none_before_[n_kinds] = {0, 0, 0};  ///< no closing delimiter of this kind before this position
};

}  // namespace lathe::ui
