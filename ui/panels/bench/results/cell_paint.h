// SPDX-License-Identifier: GPL-3.0-or-later
// Cell paint: paints results in the cells of a table: means with their intervals, verdicts as chips and as colours.
#pragma once

#include <QPainter>

#include "app/api/sweep_report.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Paints "398 ± 60.8" at the right, the interval in text3; only the mean if there is no interval or no space for it.
void paint_estimate(QPainter& painter, const Theme& theme, const QRectF& area, const QString& mean,
                    const QString& half_width, const QColor& color, bool strong);
/// Width that paint_estimate() needs. Units: pixels.
qreal estimate_width(const Theme& theme, const QString& mean, const QString& half_width, bool strong);
/// Paints a verdict as a chip; paints nothing if `words` is empty.
void paint_verdict(QPainter& painter, const Theme& theme, const QRectF& area, app::Verdict verdict, const QString& words);
/// The colour of a difference or a ratio with this verdict.
QColor verdict_color(const Tokens& tokens, app::Verdict verdict);

}  // namespace lathe::ui
