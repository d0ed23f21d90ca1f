// SPDX-License-Identifier: GPL-3.0-or-later
// How results are painted in the cells of a table: means with their intervals, verdicts as chips and as colours.
#pragma once

#include <QPainter>

#include "app/api/sweep_report.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// "398 ± 60.8" at the right, the interval in text3; without one, or where it has no room, the mean alone.
void paint_estimate(QPainter& painter, const Theme& theme, const QRectF& area, const QString& mean,
                    const QString& half_width, const QColor& color, bool strong);
/// Units: pixels that paint_estimate() needs.
qreal estimate_width(const Theme& theme, const QString& mean, const QString& half_width, bool strong);
/// Nothing without words.
void paint_verdict(QPainter& painter, const Theme& theme, const QRectF& area, app::Verdict verdict, const QString& words);
/// Of a difference or a ratio.
QColor verdict_color(const Tokens& tokens, app::Verdict verdict);

}  // namespace lathe::ui
