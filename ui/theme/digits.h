// SPDX-License-Identifier: GPL-3.0-or-later
// Equal digits: text whose digits all take the width of '0', so that changing numbers do not jump. Inter's digits are
// proportional, and Qt 6.4 cannot ask a font for its tabular ones.
#pragma once

#include <QFontMetricsF>
#include <QPainter>
#include <QString>

namespace lathe::ui {

qreal digits_width(const QFontMetricsF& metrics, const QString& text);
/// Paints with the painter's font and pen, aligned in `rect` (AlignLeft, AlignRight or AlignHCenter, and vertically).
/// Returns the width.
qreal draw_digits(QPainter& painter, const QRectF& rect, Qt::Alignment alignment, const QString& text);

}  // namespace lathe::ui
