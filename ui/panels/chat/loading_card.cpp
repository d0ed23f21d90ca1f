// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/loading_card.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>

#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/theme/digits.h"

namespace lathe::ui {
namespace {

constexpr int kLoadingHeight = 132, kLoadingPadding = 18;

/// Index of the shown phase. Calibrating, which most loads do not do, is shown as the begin of converting.
int phase_place(engine::LoadPhase phase) {
  switch (phase) {
    case engine::LoadPhase::reading: return 0;
    case engine::LoadPhase::calibrating:
    case engine::LoadPhase::converting: return 1;
    case engine::LoadPhase::warming_up: return 2;
  }
  return 0;
}

}  // namespace

LoadingCard::LoadingCard(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("loading_card"));
  const Theme& theme = context.theme;
  setFixedHeight(theme.px(kLoadingHeight));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(kLoadingPadding), 0, theme.px(14), theme.px(13));
  column->addStretch(1);
  cancel_ = make_button(theme, QStringLiteral("loading_card.cancel"), tr("Cancel"), this, ButtonLook::plain, true);
  connect(cancel_, &QPushButton::clicked, context.actions[QStringLiteral("model.cancel")], &QAction::trigger);
  column->addWidget(cancel_, 0, Qt::AlignRight);
  refresh();
}

QSize LoadingCard::sizeHint() const { return {context_.theme.px(680), context_.theme.px(kLoadingHeight)}; }

void LoadingCard::refresh() {
  const app::ModelStatus& status = context_.bridge.model_status();
  const std::optional<engine::ModelInfo>& info = context_.load.info();
  const bool demo = info ? info->is_demo : status.path == context_.workbench.library().demo_model();
  const QString name = QString::fromStdString(status.path).section(QLatin1Char('/'), -1);
  title_ = demo ? tr("Loading the demo model") : tr("Loading %1").arg(name);
  percent_ = load_percent(status.progress);
  calibrates_ = status.progress.phase == engine::LoadPhase::calibrating;
  phase_ = phase_place(status.progress.phase);
  speed_ = load_speed_text(status.progress);
  setAccessibleName(tr("%1, %2 %").arg(title_).arg(percent_));
  update();
}

void LoadingCard::paint_phases(QPainter& painter, int y) const {
  const Theme& theme = context_.theme;
  const Tokens& t = theme.tokens();
  const QString words[] = {tr("Map"), calibrates_ ? tr("Calibrate") : tr("Convert"), tr("Warm up")};
  qreal x = theme.px(kLoadingPadding);
  const qreal side = theme.px(16);
  for (int i = 0; i < 3; ++i) {
    const QRectF disc(x, y, side, side);
    const bool done = i < phase_, now = i == phase_;
    painter.setPen(done ? QPen(Qt::NoPen) : QPen(now ? t.accent : t.strong, now ? 2 : 1));
    painter.setBrush(done ? QBrush(t.accent) : QBrush(Qt::NoBrush));
    painter.drawEllipse(done ? disc : disc.adjusted(1, 1, -1, -1));
    if (done) {
      theme.icon(QStringLiteral("check"), IconTone::on_accent).paint(&painter, disc.adjusted(2, 2, -2, -2).toRect());
    } else {
      painter.setFont(theme.font(11, QFont::DemiBold));
      painter.setPen(now ? t.accent_text : t.text3);
      painter.drawText(disc, Qt::AlignCenter, QString::number(i + 1));
    }
    x += side + theme.px(9);
    painter.setFont(theme.font(12, now ? QFont::DemiBold : QFont::Normal));
    painter.setPen(now ? t.text : t.text2);
    painter.drawText(QRectF(x, y - 2, 200, side + 4), Qt::AlignVCenter | Qt::AlignLeft, words[i]);
    x += painter.fontMetrics().horizontalAdvance(words[i]) + theme.px(8);
    if (i == 2) break;
    painter.fillRect(QRectF(x, y + side / 2, theme.px(28), 1), t.strong);
    x += theme.px(28 + 8);
  }
}

void LoadingCard::paintEvent(QPaintEvent*) {
  const Theme& theme = context_.theme;
  const Tokens& t = theme.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.border, 1));
  painter.setBrush(t.page);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(8), theme.px(8));
  const int left = theme.px(kLoadingPadding), right = width() - theme.px(kLoadingPadding);
  const QRectF head(left, theme.px(13), right - left, theme.px(22));
  painter.setFont(theme.font(14, QFont::DemiBold));
  painter.setPen(t.text);
  painter.drawText(head, Qt::AlignVCenter | Qt::AlignLeft, title_);
  draw_digits(painter, head, Qt::AlignVCenter | Qt::AlignRight, tr("%1 %").arg(percent_));
  const QRectF bar(left, theme.px(46), right - left, theme.px(8));
  painter.setPen(Qt::NoPen);
  painter.setBrush(t.pressed);
  painter.drawRoundedRect(bar, bar.height() / 2, bar.height() / 2);
  if (percent_ > 0) {
    painter.setBrush(t.accent);
    painter.drawRoundedRect(
        QRectF(bar.topLeft(), QSizeF(std::max(bar.height(), bar.width() * percent_ / 100), bar.height())), bar.height() / 2,
        bar.height() / 2);
  }
  paint_phases(painter, theme.px(66));
  painter.setFont(theme.font(12));
  painter.setPen(t.text2);
  draw_digits(painter, QRectF(left, cancel_->y(), right - left, cancel_->height()), Qt::AlignVCenter | Qt::AlignLeft,
              speed_);
}

}  // namespace lathe::ui
