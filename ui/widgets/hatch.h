// SPDX-License-Identifier: GPL-3.0-or-later
// Hatch: lines at 45 degrees, which mark a missing or undesired state.
#pragma once

#include <QPainter>

namespace lathe::ui {

void draw_hatch(QPainter& painter, const QRectF& rect, const QColor& color, double pitch = 4, double width = 1);

}  // namespace lathe::ui
