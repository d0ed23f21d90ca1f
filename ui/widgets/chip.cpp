// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/chip.h"

#include <QPainter>

namespace lathe::ui {
namespace {

constexpr int kChipPadding = 7, kChipHeight = 18, kLargeHeight = 22, kChipIcon = 12, kDot = 6, kChipGap = 4;

QString icon_of(ChipState state) {
  switch (state) {
    case ChipState::success: return QStringLiteral("check");
    case ChipState::warning: return QStringLiteral("warning");
    case ChipState::error: return QStringLiteral("error");
    default: return QStringLiteral("info");
  }
}

IconTone tone_of(ChipState state) {
  switch (state) {
    case ChipState::success: return IconTone::success;
    case ChipState::warning: return IconTone::warning;
    case ChipState::error: return IconTone::error;
    case ChipState::accent: return IconTone::accent;
    case ChipState::quiet: return IconTone::rest;
  }
  return IconTone::rest;
}

int mark_width(ChipMark mark) {
  if (mark == ChipMark::none) return 0;
  return (mark == ChipMark::icon ? kChipIcon : kDot) + kChipGap;
}

int width_of(const Theme& theme, ChipMark mark, const QString& word, const QFont& font) {
  return theme.px(2 * kChipPadding + mark_width(mark)) + QFontMetrics(font).horizontalAdvance(word);
}

void paint(QPainter& painter, const Theme& theme, const QRectF& rect, ChipState state, ChipMark mark, const QString& word,
           const QFont& font, double radius) {
  const ChipColors colors = chip_colors(theme.tokens(), state);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(colors.ground);
  painter.drawRoundedRect(rect, radius, radius);
  qreal x = rect.left() + theme.px(kChipPadding);
  if (mark == ChipMark::dot) {
    const qreal dot = theme.px(kDot);
    painter.setBrush(colors.mark);
    painter.drawEllipse(QRectF(x, rect.center().y() - dot / 2, dot, dot));
  }
  if (mark == ChipMark::icon) {
    const int side = theme.px(kChipIcon);
    theme.icon(icon_of(state), tone_of(state))
        .paint(&painter, QRectF(x, rect.center().y() - side / 2.0, side, side).toRect());
  }
  x += theme.px(mark_width(mark));
  painter.setFont(font);
  painter.setPen(colors.text);
  painter.drawText(QRectF(x, rect.top(), rect.right() - x, rect.height()), Qt::AlignVCenter | Qt::AlignLeft, word);
  painter.restore();
}

}  // namespace

ChipColors chip_colors(const Tokens& t, ChipState state) {
  switch (state) {
    case ChipState::quiet: return {t.text2, t.hover, t.text3};
    case ChipState::accent: return {t.accent_text, t.tint, t.accent};
    case ChipState::success: return {t.success.text, t.success.tint, t.success.fill};
    case ChipState::warning: return {t.warning.text, t.warning.tint, t.warning.fill};
    case ChipState::error: return {t.error.text, t.error.tint, t.error.fill};
  }
  return {t.text2, t.hover, t.text3};
}

void paint_chip(QPainter& painter, const Theme& theme, const QRectF& rect, ChipState state, ChipMark mark,
                const QString& word) {
  paint(painter, theme, rect, state, mark, word, theme.font(11, QFont::DemiBold), theme.px(4));
}

int chip_width(const Theme& theme, ChipMark mark, const QString& word) {
  return width_of(theme, mark, word, theme.font(11, QFont::DemiBold));
}

Chip::Chip(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

void Chip::set(ChipState state, ChipMark mark, const QString& word) {
  if (state == state_ && mark == mark_ && word == word_) return;
  state_ = state, mark_ = mark, word_ = word;
  setAccessibleName(word);
  updateGeometry();
  update();
}

void Chip::set_large(bool large) {
  large_ = large;
  updateGeometry();
}

QSize Chip::sizeHint() const {
  const QFont font = large_ ? theme_.font(12, QFont::Medium) : theme_.font(11, QFont::DemiBold);
  return {width_of(theme_, mark_, word_, font), theme_.px(large_ ? kLargeHeight : kChipHeight)};
}

void Chip::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const QFont font = large_ ? theme_.font(12, QFont::Medium) : theme_.font(11, QFont::DemiBold);
  paint(painter, theme_, rect(), state_, mark_, word_, font, theme_.px(large_ ? 6 : 4));
}

}  // namespace lathe::ui
