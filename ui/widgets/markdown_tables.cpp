// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/markdown_tables.h"

#include <QList>
#include <algorithm>

namespace lathe::ui {
namespace {

constexpr qsizetype kDashes = 3;

/// Length of the blanks and quote marks before the text of a line.
qsizetype prefix_of(QStringView line) {
  qsizetype n = 0;
  while (n < line.size() && (line[n].isSpace() || line[n] == QLatin1Char('>'))) ++n;
  return n;
}

bool is_empty(QStringView line) { return prefix_of(line) == line.size(); }

/// True for "|---|:-:|": the line under a table's head.
bool is_delimiter_row(QStringView line) {
  const QStringView row = line.mid(prefix_of(line)).trimmed();
  if (!row.contains(QLatin1Char('|')) || !row.contains(QLatin1Char('-'))) return false;
  const QList<QStringView> cells = row.split(QLatin1Char('|'));
  for (qsizetype i = 0; i < cells.size(); ++i) {
    QStringView cell = cells[i].trimmed();
    if (cell.isEmpty() && (i == 0 || i + 1 == cells.size())) continue;
    if (cell.startsWith(u':')) cell = cell.mid(1);
    if (cell.endsWith(u':')) cell.chop(1);
    if (cell.isEmpty() || std::count(cell.begin(), cell.end(), QLatin1Char('-')) != cell.size()) return false;
  }
  return true;
}

QString with_long_dashes(QStringView row) {
  QString text;
  for (qsizetype i = 0; i < row.size();) {
    qsizetype end = i;
    while (end < row.size() && row[end] == QLatin1Char('-')) ++end;
    if (end > i) text += QString(std::max(kDashes, end - i), QLatin1Char('-'));
    else text += row[end++];
    i = end;
  }
  return text;
}

}  // namespace

QString with_clear_tables(const QString& markdown) {
  if (!markdown.contains(QLatin1Char('|')) || !markdown.contains(QLatin1Char('-'))) return markdown;
  const QList<QStringView> lines = QStringView(markdown).split(QLatin1Char('\n'));
  QStringList shown;
  shown.reserve(lines.size());
  bool in_table = false;
  for (qsizetype i = 0; i < lines.size(); ++i) {
    const QStringView line = lines[i];
    in_table = in_table && !is_empty(line);
    const bool is_head =
        !in_table && line.contains(QLatin1Char('|')) && i + 1 < lines.size() && is_delimiter_row(lines[i + 1]);
    if (is_head && i > 0 && !is_empty(lines[i - 1])) shown.append(line.left(prefix_of(line)).toString());
    shown.append(line.toString());
    if (!is_head) continue;
    shown.append(with_long_dashes(lines[++i]));
    in_table = true;
  }
  return shown.join(QLatin1Char('\n'));
}

}  // namespace lathe::ui
