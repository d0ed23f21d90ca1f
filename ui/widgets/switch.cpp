// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/switch.h"

#include <QPainter>

namespace lathe::ui {
namespace {

constexpr double kKnobInset = 2.5;

QSize track_of(SwitchSize size) {
  switch (size) {
    case SwitchSize::compact: return {28, 16};
    case SwitchSize::normal: return {34, 20};
    case SwitchSize::big: return {46, 26};
  }
  return {34, 20};
}

}  // namespace

Switch::Switch(const Theme& theme, SwitchSize size, QWidget* parent) : QAbstractButton(parent), theme_(theme), size_(size) {
  setCheckable(true);
  setFocusPolicy(Qt::TabFocus);
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize Switch::sizeHint() const {
  const QSize track = track_of(size_);
  return {theme_.px(track.width()), theme_.px(track.height())};
}

void Switch::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  const QSizeF size = sizeHint();
  const QRectF track(QPointF(0, (height() - size.height()) / 2), size);
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor ground = isChecked() ? t.accent : mixed(t.dock, t.text3, 0.25);
  if (!isEnabled()) ground = isChecked() ? mixed(t.accent, t.dock, 0.4) : t.hover;
  painter.setPen(Qt::NoPen);
  painter.setBrush(ground);
  painter.drawRoundedRect(track, track.height() / 2, track.height() / 2);
  const qreal knob = track.height() - 2 * kKnobInset;
  const qreal x = isChecked() ? track.right() - kKnobInset - knob : track.left() + kKnobInset;
  painter.setBrush(isEnabled() ? QColor(Qt::white) : t.page);
  painter.drawEllipse(QRectF(x, track.top() + kKnobInset, knob, knob));
  if (!hasFocus()) return;
  painter.setBrush(Qt::NoBrush);
  painter.setPen(QPen(isChecked() ? t.text : t.focus, 1));
  const QRectF ring = track.adjusted(0.5, 0.5, -0.5, -0.5);
  painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2);
}

}  // namespace lathe::ui
