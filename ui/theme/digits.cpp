// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

bool is_digit(QChar c) { return c >= QLatin1Char('0') && c <= QLatin1Char('9'); }

/// Calls piece(text, is_digit) for each digit and for each run of other characters.
template <class Piece>
void for_pieces(const QString& text, Piece piece) {
  qsizetype begin = 0;
  for (qsizetype i = 0; i < text.size(); ++i) {
    if (!is_digit(text[i])) continue;
    if (i > begin) piece(text.mid(begin, i - begin), false);
    piece(text.mid(i, 1), true);
    begin = i + 1;
  }
  if (begin < text.size()) piece(text.mid(begin), false);
}

}  // namespace

qreal digits_width(const QFontMetricsF& metrics, const QString& text) {
  const qreal cell = metrics.horizontalAdvance(QLatin1Char('0'));
  qreal width = 0;
  for_pieces(text, [&](const QString& piece, bool digit) { width += digit ? cell : metrics.horizontalAdvance(piece); });
  return width;
}

qreal draw_digits(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text) {
  const QFontMetricsF metrics(painter.font(), painter.device());
  const qreal cell = metrics.horizontalAdvance(QLatin1Char('0'));
  const qreal width = digits_width(metrics, text);
  qreal x = rect.left();
  if (alignment.testFlag(Qt::AlignRight)) x = rect.right() - width;
  if (alignment.testFlag(Qt::AlignHCenter)) x = rect.center().x() - width / 2;
  qreal y = rect.center().y() + (metrics.ascent() - metrics.descent()) / 2;
  if (alignment.testFlag(Qt::AlignTop)) y = rect.top() + metrics.ascent();
  if (alignment.testFlag(Qt::AlignBottom)) y = rect.bottom() - metrics.descent();
  for_pieces(text, [&](const QString& piece, bool digit) {
    const qreal advance = metrics.horizontalAdvance(piece);
    painter.drawText(QPointF(digit ? x + (cell - advance) / 2 : x, y), piece);
    x += digit ? cell : advance;
  });
  return width;
}

}  // namespace lathe::ui
