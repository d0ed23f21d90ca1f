// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/waterfall.h"

#include <QLocale>
#include <QPainter>
#include <QPainterPath>

#include "ui/theme/digits.h"
#include "ui/widgets/chart_style.h"
#include "ui/widgets/hatch.h"

namespace lathe::ui {
namespace {

constexpr int kBarHeight = 20;
// Width below which a phase does not show its duration as text.
constexpr qreal kWordWidth = 56;

}  // namespace

QColor phase_color(const Tokens& tokens, Phase phase) {
  switch (phase) {
    case Phase::queued: return tokens.queued;
    case Phase::prefill: return tokens.prefill;
    case Phase::decode: return tokens.decode;
    case Phase::preempted: return tokens.preempted;
  }
  return tokens.queued;
}

void paint_phase(QPainter& painter, const Theme& theme, const QRectF& area, Phase phase) {
  const QColor color = phase_color(theme.tokens(), phase);
  const bool computes = phase == Phase::prefill || phase == Phase::decode;
  painter.fillRect(area, computes ? color : mixed(color, theme.tokens().page, 0.25));
  if (!computes) draw_hatch(painter, area, color, theme.px(4), 1.2);
}

Waterfall::Waterfall(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("requests.waterfall"));
  setAccessibleName(tr("Phases of the request"));
}

void Waterfall::show_life(RequestLife life) {
  life_ = std::move(life);
  if (isVisible()) update();
}

void Waterfall::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const QRectF bar(0.5, 0.5, width() - 1, theme_.px(kBarHeight) - 1);
  QPainterPath shape;
  shape.addRoundedRect(bar, theme_.px(4), theme_.px(4));
  painter.setClipPath(shape);
  painter.fillRect(bar, theme_.tokens().sunken);
  if (life_.end_s > 0) paint_bar(painter, bar);
  painter.setClipping(false);
  if (life_.end_s > 0) paint_axis(painter, bar);
}

void Waterfall::paint_bar(QPainter& painter, const QRectF& bar) const {
  for (const PhaseSpan& span : life_.spans) {
    const qreal left = bar.left() + bar.width() * span.begin_s / life_.end_s;
    const QRectF area(left, bar.top(), bar.left() + bar.width() * span.end_s / life_.end_s - left, bar.height());
    paint_phase(painter, theme_, area, span.phase);
    if (span.phase != Phase::decode || area.width() < kWordWidth) continue;
    painter.setPen(Qt::black);
    painter.setFont(theme_.font(11, QFont::DemiBold));
    draw_digits(painter, area, Qt::AlignHCenter | Qt::AlignVCenter,
                tr("%1 s").arg(QLocale().toString(span.end_s - span.begin_s, 'f', 2)));
  }
}

void Waterfall::paint_axis(QPainter& painter, const QRectF& bar) const {
  const double step = round_step(life_.end_s, 4);
  painter.setFont(theme_.font(11));
  for (double time = 0; time <= life_.end_s; time += step) {
    const qreal x = bar.left() + bar.width() * time / life_.end_s;
    painter.setPen(theme_.tokens().border);
    painter.drawLine(QPointF(x, bar.bottom() + 2), QPointF(x, bar.bottom() + 6));
    painter.setPen(theme_.tokens().text3);
    const QString word = time == 0 ? QStringLiteral("0") : tr("%1 s").arg(QLocale().toString(time, 'g', 3));
    const QRectF place(time == 0 ? x : x - 30, bar.bottom() + 6, 60, theme_.px(16));
    if (time == 0 || place.right() <= width() + 14)
      draw_digits(painter, place, (time == 0 ? Qt::AlignLeft : Qt::AlignHCenter) | Qt::AlignVCenter, word);
  }
}

}  // namespace lathe::ui
