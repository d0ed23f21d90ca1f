// SPDX-License-Identifier: GPL-3.0-or-later
// Waterfall: the phases of one request on one bar, with a time axis.
#pragma once

#include <QWidget>

#include "ui/models/request_phases.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

QColor phase_color(const Tokens& tokens, Phase phase);
/// Paints a phase: solid if the request is computed in it, hatched if it waits.
void paint_phase(QPainter& painter, const Theme& theme, const QRectF& area, Phase phase);

class Waterfall : public QWidget {
  Q_OBJECT
 public:
  explicit Waterfall(const Theme& theme, QWidget* parent = nullptr);
  void show_life(RequestLife life);
  QSize sizeHint() const override { return {320, theme_.px(44)}; }
  QSize minimumSizeHint() const override { return {160, theme_.px(44)}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  void paint_bar(QPainter& painter, const QRectF& bar) const;
  void paint_axis(QPainter& painter, const QRectF& bar) const;

  const Theme& theme_;
  RequestLife life_;
};

}  // namespace lathe::ui
