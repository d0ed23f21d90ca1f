// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/widgets/context_meter.h"

#include <QLocale>
#include <QPainter>
#include <QPainterPath>
#include <algorithm>

#include "ui/theme/digits.h"
#include "ui/widgets/hatch.h"

namespace lathe::ui {
namespace {

constexpr int kMeterHeight = 18, kMeterBar = 6, kMeterGap = 12;

}  // namespace

ContextMeter::ContextMeter(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {
  setObjectName(QStringLiteral("context_meter"));
  setFixedHeight(theme.px(kMeterHeight));
  set(0, 0, 0, 0);
}

QSize ContextMeter::sizeHint() const { return {theme_.px(400), theme_.px(kMeterHeight)}; }

void ContextMeter::set(qint64 used, qint64 draft, qint64 reserve, qint64 limit) {
  used_ = used, draft_ = draft, reserve_ = reserve, limit_ = limit;
  const QLocale locale;
  QString words;
  if (limit <= 0) words = tr("no model");
  else {
    words = tr("%1 used + %2 reserved for the reply, of %3")
                .arg(locale.toString(used + draft), locale.toString(reserve), locale.toString(limit));
    if (over()) words = tr("%1, %2 too many").arg(words, locale.toString(used + draft + reserve - limit));
  }
  if (words != words_) setAccessibleName(tr("Context: %1").arg(words));
  words_ = words;
  setToolTip(draft > 0 ? tr("%1 tokens in the chat, %2 in the draft").arg(locale.toString(used), locale.toString(draft))
                       : QString());
  update();
}

void ContextMeter::paintEvent(QPaintEvent*) {
  const Tokens& t = theme_.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setFont(theme_.font(11));
  painter.setPen(t.text3);
  const QRectF all = rect();
  const QString label = tr("Context");
  const qreal left = draw_digits(painter, all, Qt::AlignLeft | Qt::AlignVCenter, label) + theme_.px(kMeterGap);
  painter.setPen(over() ? t.error.text : t.text3);
  const qreal right = draw_digits(painter, all, Qt::AlignRight | Qt::AlignVCenter, words_) + theme_.px(kMeterGap);
  const QRectF bar(left, (height() - theme_.px(kMeterBar)) / 2.0, std::max(0.0, width() - left - right),
                   theme_.px(kMeterBar));
  QPainterPath shape;
  shape.addRoundedRect(bar, bar.height() / 2, bar.height() / 2);
  painter.fillPath(shape, t.pressed);
  if (limit_ <= 0) return;
  painter.setClipPath(shape);
  const auto x_of = [&](qint64 tokens) {
    return bar.left() + bar.width() * std::min(1.0, static_cast<double>(tokens) / static_cast<double>(limit_));
  };
  const auto part = [&](qint64 from, qint64 to) {
    return QRectF(QPointF(x_of(from), bar.top()), QPointF(x_of(to), bar.bottom()));
  };
  const QRectF reserved = part(used_ + draft_, used_ + draft_ + reserve_);
  painter.fillRect(reserved, over() ? t.error.tint : t.tint);
  draw_hatch(painter, reserved, over() ? t.error.fill : t.accent);
  painter.fillRect(part(used_, used_ + draft_), mixed(t.accent, t.page, 0.35));
  painter.fillRect(part(0, used_), t.accent);
}

}  // namespace lathe::ui
