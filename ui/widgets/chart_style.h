// SPDX-License-Identifier: GPL-3.0-or-later
// Chart style: axes, grid and fonts of charts, the pens of lines by their index, and rounded ticks.
#pragma once

#include <QPen>
#include <QString>

#include "ui/theme/theme.h"

class QCustomPlot;

namespace lathe::ui {

/// Sets the ground, and axes without lines or ticks over horizontal grid lines.
void style_plot(QCustomPlot& plot, const Theme& theme);

/// The pen of a line: the colour follows the meaning of the line, the dash its index in the chart; the first line is a
/// little wider.
QPen line_pen(const QColor& color, std::size_t place);

/// A value on an axis with as many decimals as its step needs.
QString axis_number(double value, double step);

/// The smallest of 1, 2, 5 times a power of ten that divides `top` into at most `n` parts.
double round_step(double top, int n);

}  // namespace lathe::ui
