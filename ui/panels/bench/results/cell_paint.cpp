// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/cell_paint.h"

#include "ui/theme/digits.h"
#include "ui/widgets/chip.h"

namespace lathe::ui {

namespace {

QString interval_text(const QString& half_width) {
  return half_width.isEmpty() ? QString() : QStringLiteral(" ± ") + half_width;
}

QFont mean_font(const Theme& theme, bool strong) { return theme.font(12, strong ? QFont::DemiBold : QFont::Normal); }

}  // namespace

qreal estimate_width(const Theme& theme, const QString& mean, const QString& half_width, bool strong) {
  return digits_width(QFontMetricsF(theme.font(12)), interval_text(half_width)) +
         digits_width(QFontMetricsF(mean_font(theme, strong)), mean);
}

void paint_estimate(QPainter& painter, const Theme& theme, const QRectF& area, const QString& mean,
                    const QString& half_width, const QColor& color, bool strong) {
  const bool has_room = estimate_width(theme, mean, half_width, strong) <= area.width() + 0.5;
  const QString interval = has_room ? interval_text(half_width) : QString();
  painter.setFont(theme.font(12));
  painter.setPen(theme.tokens().text3);
  const qreal wide = digits_width(QFontMetricsF(painter.font()), interval);
  draw_digits(painter, area, Qt::AlignRight | Qt::AlignVCenter, interval);
  painter.setFont(mean_font(theme, strong));
  painter.setPen(color);
  draw_digits(painter, area.adjusted(0, 0, -wide, 0), Qt::AlignRight | Qt::AlignVCenter, mean);
}

void paint_verdict(QPainter& painter, const Theme& theme, const QRectF& area, app::Verdict verdict, const QString& words) {
  if (words.isEmpty()) return;
  const ChipState state = verdict == app::Verdict::better  ? ChipState::success
                          : verdict == app::Verdict::worse ? ChipState::error
                                                           : ChipState::quiet;
  const ChipMark mark = state == ChipState::quiet ? ChipMark::none : ChipMark::icon;
  const QRectF chip(area.left(), area.center().y() - theme.px(18) / 2.0, chip_width(theme, mark, words), theme.px(18));
  paint_chip(painter, theme, chip, state, mark, words);
}

QColor verdict_color(const Tokens& tokens, app::Verdict verdict) {
  return verdict == app::Verdict::better  ? tokens.success.text
         : verdict == app::Verdict::worse ? tokens.error.text
                                          : tokens.text2;
}

}  // namespace lathe::ui
