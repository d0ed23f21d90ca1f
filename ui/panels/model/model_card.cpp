// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/model_card.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/models/durations.h"
#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/elided_label.h"

namespace lathe::ui {

ModelCard::ModelCard(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("model.card"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(10), theme.px(7), theme.px(8), theme.px(8));
  column->setSpacing(theme.px(3));
  auto* head = new QHBoxLayout;
  head->setSpacing(theme.px(2));
  name_ = new ElidedLabel(theme, QStringLiteral("model.card.name"), this, 13, QFont::DemiBold, TextTone::text);
  head->addSpacing(theme.px(24));
  head->addWidget(name_, 1);
  eject_ = make_icon_button(theme, QStringLiteral("model.card.eject"), QStringLiteral("eject"),
                            context.actions[QStringLiteral("model.unload")]->toolTip(), this, 24);
  connect(eject_, &QToolButton::clicked, context.actions[QStringLiteral("model.unload")], &QAction::trigger);
  auto* other = make_icon_button(theme, QStringLiteral("model.card.other"), QStringLiteral("chevron-down"),
                                 tr("Choose another model"), this, 24);
  connect(other, &QToolButton::clicked, this, &ModelCard::other_asked);
  head->addWidget(eject_);
  head->addWidget(other);
  column->addLayout(head);
  what_ = new ElidedLabel(theme, QStringLiteral("model.card.what"), this, 12);
  column->addWidget(what_);
  auto* foot = new QHBoxLayout;
  how_ = new ElidedLabel(theme, QStringLiteral("model.card.how"), this, 12);
  state_ = new Chip(theme, this);
  state_->setObjectName(QStringLiteral("model.card.state"));
  foot->addWidget(how_, 1);
  foot->addWidget(state_);
  column->addLayout(foot);
  refresh();
}

void ModelCard::refresh() {
  const LoadChoice& load = context_.load;
  const app::ModelStatus& status = context_.bridge.model_status();
  const QString folder = QString::fromStdString(load.path());
  const std::optional<engine::ModelInfo>& info = load.info();
  name_->setText(info ? info->is_demo ? tr("Lathe demo") : QString::fromStdString(info->name)
                      : folder.section(QLatin1Char('/'), -1));
  name_->setToolTip(folder);
  what_->setText(info ? model_line(*info) : load.info_error() ? tr("Cannot be read") : tr("Reading headers…"));
  if (info && !info->warnings.empty()) what_->setToolTip(QString::fromStdString(info->warnings.front()));
  const bool mine = status.path == load.path();
  if (load.is_loaded()) {
    how_->setText(loaded_text(*context_.bridge.loaded()));
    state_->set(ChipState::success, ChipMark::dot, tr("Ready"));
  } else if (mine && status.state == app::ModelState::loading) {
    how_->setText(QString());
    state_->set(ChipState::accent, ChipMark::none, tr("Loading"));
  } else if (status.next == load.path()) {
    how_->setText(QString());
    state_->set(ChipState::accent, ChipMark::none, tr("Checking"));
  } else if (load.info_error() || (status.error && status.failed == load.path())) {
    const bool cancelled = !load.info_error() && status.error && status.error->code == engine::ErrorCode::cancelled;
    how_->setText(tr("Not loaded"));
    state_->set(cancelled ? ChipState::quiet : ChipState::error, cancelled ? ChipMark::none : ChipMark::icon,
                cancelled ? tr("Cancelled") : tr("Error"));
  } else {
    const auto& loaded = context_.bridge.loaded();
    how_->setText(loaded ? tr("Not loaded; %1 answers").arg(QString::fromStdString(loaded->name)) : tr("Not loaded"));
    state_->set(ChipState::quiet, ChipMark::none, tr("Chosen"));
  }
  eject_->setEnabled(load.is_loaded());
}

void ModelCard::paintEvent(QPaintEvent*) {
  const Theme& theme = context_.theme;
  const Tokens& t = theme.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.border, 1));
  painter.setBrush(t.raised);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(8), theme.px(8));
  const int side = theme.px(18);
  theme.icon(QStringLiteral("model"), IconTone::accent)
      .paint(&painter, QRect(theme.px(10), name_->geometry().center().y() - side / 2, side, side));
}

}  // namespace lathe::ui
