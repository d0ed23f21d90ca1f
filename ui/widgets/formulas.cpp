// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/formulas.h"

#include <QString>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr qsizetype kLongestInline = 1000;   // longest $..$. Units: characters
constexpr qsizetype kLongestDisplay = 4000;  // longest display formula with blank lines in it

bool is_blank(QStringView line) {
  return std::all_of(line.begin(), line.end(), [](QChar c) { return c.isSpace() || c == QLatin1Char('>'); });
}

bool is_word(QChar c) { return c.isLetterOrNumber(); }

/// True if the text has two letters or more without a backslash before them: "and", not "\times" and not "x".
bool has_plain_word(QStringView text) {
  int letters = 0;
  bool command = false;
  for (const QChar c : text) {
    if (c.isLetter()) {
      if (++letters >= 2 && !command) return true;
      continue;
    }
    letters = 0;
    command = c == QLatin1Char('\\');
  }
  return false;
}

bool has_math_sign(QStringView text) {
  return std::any_of(text.begin(), text.end(), [](QChar c) { return QStringView(u"\\^_{}=<>").contains(c); });
}

/// Distinguishes a formula between two dollars from prices: "5 and 10".
bool is_formula(QStringView content) {
  if (content.isEmpty() || content.front().isSpace() || content.back().isSpace() || content.back() == QLatin1Char('\\'))
    return false;
  if (!content.front().isDigit() || has_math_sign(content)) return true;
  return !has_plain_word(content) && !content.contains(QLatin1Char('|'));
}

/// "th", "st", "nd", "rd", "s": endings of a word after a formula, as in "the $n$th" and "the $x$s".
bool is_ending(QStringView rest) {
  qsizetype n = 0;
  while (n < rest.size() && n < 4 && rest[n].isLetter()) ++n;
  const QStringView word = rest.left(n);
  return word == u"th" || word == u"st" || word == u"nd" || word == u"rd" || word == u"s";
}

}  // namespace

std::optional<FormulaSpan> FormulaFinder::at(qsizetype position, qsizetype wall) {
  const QStringView rest = text_.mid(position);
  if (rest.startsWith(u"\\(")) return bracketed(position, wall, round);
  if (rest.startsWith(u"\\[")) return bracketed(position, wall, square);
  if (!rest.startsWith(u'$') || rest.startsWith(u"$$$")) return {};
  return rest.startsWith(u"$$") ? bracketed(position, wall, double_dollar) : single_dollar(position, wall);
}

std::optional<FormulaSpan> FormulaFinder::bracketed(qsizetype position, qsizetype wall, Kind kind) {
  const qsizetype from = position + 2, paragraph = paragraph_end(position), end = std::min(paragraph, wall);
  qsizetype close = find_close(from, end, kind);
  // A formula that begins a line may contain blank lines.
  if (close < 0 && end == paragraph && end < text_.size() && kind != round && opens_line(position))
    close = find_close(from, std::min(wall, from + kLongestDisplay), kind);
  const QStringView content = text_.mid(from, (close < 0 ? text_.size() : close) - from).trimmed();
  if (content.isEmpty()) return {};
  if (close >= 0) return FormulaSpan{position, close + 2, true};
  if (end < text_.size() || (kind == double_dollar && content.front().isDigit())) return {};
  qsizetype last = text_.size();
  while (text_[last - 1].isSpace()) --last;
  return FormulaSpan{position, last, false};
}

std::optional<FormulaSpan> FormulaFinder::single_dollar(qsizetype position, qsizetype wall) const {
  if (position > 0 && (is_word(text_[position - 1]) || text_[position - 1] == QLatin1Char('$'))) return {};
  const qsizetype limit = std::min(wall, position + kLongestInline);
  if (position + 1 >= limit || text_[position + 1].isSpace()) return {};
  for (qsizetype i = position + 1; i < limit; ++i) {
    const QChar c = text_[i];
    if (c == QLatin1Char('\n')) return {};
    if (c == QLatin1Char('\\')) {
      ++i;
      continue;
    }
    if (c != QLatin1Char('$')) continue;
    const QStringView content = text_.mid(position + 1, i - position - 1), rest = text_.mid(i + 1);
    if (rest.startsWith(u'$') || content.isEmpty()) return {};
    if (content.back().isSpace()) continue;
    const bool ends = rest.isEmpty() || !is_word(rest.front()) || is_ending(rest);
    if (!ends) continue;
    if (!is_formula(content)) return {};
    return FormulaSpan{position, i + 1, true};
  }
  return {};
}

qsizetype FormulaFinder::find_close(qsizetype from, qsizetype limit, Kind kind) {
  for (qsizetype i = std::max(from, none_before_[kind]); i + 1 < limit; ++i) {
    const QChar c = text_[i], next = text_[i + 1];
    if (kind == double_dollar && c == QLatin1Char('$') && next == QLatin1Char('$')) return i;
    if (c != QLatin1Char('\\')) continue;
    if (kind == round && next == QLatin1Char(')')) return i;
    if (kind == square && next == QLatin1Char(']')) return i;
    ++i;  // "\\\\" is a line break of a formula, and the character after it is no delimiter
  }
  none_before_[kind] = std::max(none_before_[kind], limit - 1);
  return -1;
}

qsizetype FormulaFinder::paragraph_end(qsizetype position) {
  if (position < paragraph_end_) return paragraph_end_;
  qsizetype line = text_.indexOf(QLatin1Char('\n'), position);
  while (line >= 0) {
    const qsizetype next = text_.indexOf(QLatin1Char('\n'), line + 1);
    const QStringView words = text_.mid(line + 1, (next < 0 ? text_.size() : next) - line - 1);
    if (is_blank(words) && text_.mid(line).trimmed().size() > 0) break;
    line = next;
  }
  paragraph_end_ = line < 0 ? text_.size() : line;
  return paragraph_end_;
}

bool FormulaFinder::opens_line(qsizetype position) const {
  while (position > 0 && text_[position - 1] != QLatin1Char('\n')) {
    const QChar c = text_[--position];
    if (!c.isSpace() && !c.isDigit() && !QStringView(u">-*+.)").contains(c)) return false;
  }
  return true;
}

}  // namespace lathe::ui
