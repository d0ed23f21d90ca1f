// SPDX-License-Identifier: GPL-3.0-or-later
// How charts look: axes, grid and fonts, the pens of lines by their place, and round ticks.
#pragma once

#include <QPen>
#include <QString>

#include "ui/theme/theme.h"

class QCustomPlot;

namespace lathe::ui {

/// Ground, and axes without lines or ticks over horizontal grid lines.
void style_plot(QCustomPlot& plot, const Theme& theme);

/// The colour follows the meaning of a line, the dash its place in the chart; the first is a little wider.
QPen line_pen(const QColor& color, std::size_t place);

/// A value of an axis with as many decimals as its step needs.
QString axis_number(double value, double step);

/// The smallest of 1, 2, 5 times a power of ten that divides `top` into at most `n` parts.
double round_step(double top, int n);

}  // namespace lathe::ui
