// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/model/action_slot.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/models/load_choice.h"
#include "ui/models/load_text.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

enum Page { kLoad, kProgress, kReload, kSaved };
constexpr int kSlotHeight = 38, kProgressHeight = 62;

class TintBar final : public QWidget {
 public:
  TintBar(const Theme& theme, QWidget* parent) : QWidget(parent), theme_(theme) {}

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme_.tokens().tint_border, 1));
    painter.setBrush(theme_.tokens().tint);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(8), theme_.px(8));
  }

 private:
  const Theme& theme_;
};

}  // namespace

ActionSlot::ActionSlot(const PanelContext& context, QWidget* parent) : QStackedWidget(parent), context_(context) {
  setObjectName(QStringLiteral("model.slot"));
  setAccessibleName(tr("Next step"));
  setFocusPolicy(Qt::ClickFocus);  // holds the focus when its button has gone, so that Enter presses no other one
  addWidget(make_load());
  addWidget(make_progress());
  addWidget(make_reload());
  addWidget(make_saved());
  refresh();
}

QSize ActionSlot::sizeHint() const {
  return {context_.theme.px(200), context_.theme.px(currentIndex() == kProgress ? kProgressHeight : kSlotHeight)};
}

QWidget* ActionSlot::make_load() {
  auto* page = new QWidget(this);
  auto* row = new QHBoxLayout(page);
  row->setContentsMargins(0, 0, 0, 0);
  load_ = make_button(context_.theme, QStringLiteral("model.load"), tr("Load"), page, ButtonLook::primary);
  load_->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  connect(load_, &QPushButton::clicked, this, &ActionSlot::press);
  row->addWidget(load_);
  return page;
}

QWidget* ActionSlot::make_progress() {
  const Theme& theme = context_.theme;
  auto* page = new QWidget(this);
  auto* column = new QVBoxLayout(page);
  column->setContentsMargins(0, theme.px(4), 0, 0);
  column->setSpacing(theme.px(6));
  bar_ = new QProgressBar(page);
  bar_->setObjectName(QStringLiteral("model.progress"));
  bar_->setAccessibleName(tr("Loading"));
  bar_->setRange(0, 100);
  bar_->setTextVisible(false);
  column->addWidget(bar_);
  auto* row = new QHBoxLayout;
  progress_words_ = make_label(theme, QStringLiteral("model.progress.words"), QString(), page, 12);
  progress_words_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  QPushButton* cancel = make_button(theme, QStringLiteral("model.cancel"), tr("Cancel"), page, ButtonLook::plain, true);
  connect(cancel, &QPushButton::clicked, context_.actions[QStringLiteral("model.cancel")], &QAction::trigger);
  row->addWidget(progress_words_, 1);
  row->addWidget(cancel);
  column->addLayout(row);
  return page;
}

QWidget* ActionSlot::make_reload() {
  const Theme& theme = context_.theme;
  auto* page = new TintBar(theme, this);
  auto* row = new QHBoxLayout(page);
  row->setContentsMargins(theme.px(8), 0, theme.px(2), 0);
  row->setSpacing(theme.px(2));
  changed_words_ = make_label(theme, QStringLiteral("model.changed"), QString(), page, 12, QFont::DemiBold, TextTone::text);
  changed_words_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  reload_ = make_button(theme, QStringLiteral("model.reload"), tr("Reload"), page, ButtonLook::primary, true);
  QPushButton* revert = make_button(theme, QStringLiteral("model.revert"), tr("Revert"), page, ButtonLook::ghost, true);
  connect(reload_, &QPushButton::clicked, this, &ActionSlot::press);
  connect(revert, &QPushButton::clicked, context_.actions[QStringLiteral("model.revert")], &QAction::trigger);
  row->addWidget(changed_words_, 1);
  row->addWidget(reload_);
  row->addWidget(revert);
  return page;
}

QWidget* ActionSlot::make_saved() {
  auto* page = new QWidget(this);
  auto* row = new QHBoxLayout(page);
  row->setContentsMargins(0, 0, 0, 0);
  row->addWidget(make_label(context_.theme, QStringLiteral("model.saved"), tr("Saved for this model"), page, 12,
                            QFont::Normal, TextTone::text3));
  row->addStretch(1);
  QPushButton* reset =
      make_button(context_.theme, QStringLiteral("model.defaults"), tr("Reset to defaults"), page, ButtonLook::link, true);
  connect(reset, &QPushButton::clicked, context_.actions[QStringLiteral("model.defaults")], &QAction::trigger);
  row->addWidget(reset);
  return page;
}

void ActionSlot::press() {
  if (context_.load.wont_fit()) Q_EMIT anyway_wanted();
  else context_.actions[QStringLiteral("model.load")]->trigger();
}

void ActionSlot::refresh() {
  const app::ModelStatus& status = context_.bridge.model_status();
  const int before = currentIndex();
  const bool has_focus = isAncestorOf(QApplication::focusWidget());
  const bool usable = !context_.load.is_unusable(), wont_fit = context_.load.wont_fit();
  load_->setEnabled(usable);
  reload_->setEnabled(usable);
  load_->setText(wont_fit ? tr("Load anyway") : tr("Load"));
  reload_->setText(wont_fit ? tr("Load anyway") : tr("Reload"));
  if (context_.bridge.is_loading()) {
    bar_->setValue(load_percent(status.progress));
    progress_words_->setText(load_state_text(status));
    progress_words_->setToolTip(QString::fromUtf8(engine::name_of(status.progress.phase).data()));
    setCurrentIndex(kProgress);
  } else if (!context_.load.is_loaded()) {
    setCurrentIndex(kLoad);
  } else if (const qsizetype n = context_.load.changed_options().size(); n > 0) {
    changed_words_->setText(n == 1 ? tr("1 setting needs a reload") : tr("%1 settings need a reload").arg(n));
    setCurrentIndex(kReload);
  } else {
    setCurrentIndex(kSaved);
  }
  if (before != currentIndex()) {
    if (has_focus) setFocus();
    setFixedHeight(sizeHint().height());
    updateGeometry();
  }
}

}  // namespace lathe::ui
