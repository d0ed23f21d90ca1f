// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/hatch.h"

namespace lathe::ui {

void draw_hatch(QPainter& painter, const QRectF& rect, const QColor& color, double pitch, double width) {
  if (rect.isEmpty()) return;
  painter.save();
  painter.setClipRect(rect, Qt::IntersectClip);
  painter.setPen(QPen(color, width));
  for (qreal x = rect.left() - rect.height(); x < rect.right(); x += pitch)
    painter.drawLine(QPointF(x, rect.bottom()), QPointF(x + rect.height(), rect.top()));
  painter.restore();
}

}  // namespace lathe::ui
