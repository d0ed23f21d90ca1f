// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/chart_style.h"

#include <qcustomplot.h>

#include <QLocale>
#include <cmath>

namespace lathe::ui {
namespace {

/// Dash pattern of the line at index `place`. Units: pixels; QPen wants them divided by its width.
QVector<qreal> dash_of(std::size_t place) {
  switch (place % 6) {
    case 1: return {6, 3};
    case 2: return {8, 3, 2, 3};
    case 3: return {2, 2};
    case 4: return {10, 4};
    case 5: return {4, 2, 1, 2};
    default: return {};
  }
}

}  // namespace

void style_plot(QCustomPlot& plot, const Theme& theme) {
  const Tokens& tokens = theme.tokens();
  plot.setBackground(QBrush(tokens.page));
  for (QCPAxis* axis : {plot.xAxis, plot.yAxis}) {
    axis->setBasePen(Qt::NoPen);
    axis->setTickPen(Qt::NoPen);
    axis->setSubTickPen(Qt::NoPen);
    axis->setTickLabelFont(theme.font(11));
    axis->setTickLabelColor(tokens.text3);
    axis->setLabelFont(theme.font(11));
    axis->setLabelColor(tokens.text3);
    axis->grid()->setPen(QPen(tokens.border, 1));
    axis->grid()->setZeroLinePen(QPen(tokens.border, 1));
  }
  plot.xAxis->grid()->setVisible(false);
}

QPen line_pen(const QColor& color, std::size_t place) {
  const qreal width = place == 0 ? 1.8 : 1.5;
  QPen pen(color, width);
  QVector<qreal> dash = dash_of(place);
  for (qreal& length : dash) length /= width;
  if (!dash.isEmpty()) pen.setDashPattern(dash);
  return pen;
}

QString axis_number(double value, double step) {
  return QLocale().toString(value, 'f', step < 1 ? static_cast<int>(std::ceil(-std::log10(step))) : 0);
}

double round_step(double top, int n) {
  if (!(top > 0)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(top / n)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (top / (factor * power) <= n + 1e-9) return factor * power;
  }
  return 10 * power;
}

}  // namespace lathe::ui
