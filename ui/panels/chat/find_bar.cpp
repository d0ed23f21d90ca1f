// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>

#include "ui/models/counted.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {

FindBar::FindBar(const Theme& theme, const Conversation& conversation, QWidget* parent)
    : QWidget(parent), conversation_(conversation) {
  setObjectName(QStringLiteral("find_bar"));
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, theme.px(6), 0, theme.px(2));
  row->setSpacing(theme.px(6));
  field_ = new QLineEdit(this);
  field_->setObjectName(QStringLiteral("find_bar.field"));
  field_->setAccessibleName(tr("Find in chat"));
  field_->setPlaceholderText(tr("Find in chat"));
  count_ = make_label(theme, QStringLiteral("find_bar.count"), QString(), this, 12, QFont::Normal, TextTone::text3);
  auto* next_button = make_icon_button(theme, QStringLiteral("find_bar.next"), QStringLiteral("chevron-down"),
                                       tr("Next message that matches (F3)"), this, 24);
  auto* close_button =
      make_icon_button(theme, QStringLiteral("find_bar.close"), QStringLiteral("close"), tr("Close"), this, 24);
  row->addWidget(field_, 1);
  row->addWidget(count_);
  row->addWidget(next_button);
  row->addWidget(close_button);
  connect(field_, &QLineEdit::textChanged, this, [this] { search(); });
  connect(field_, &QLineEdit::returnPressed, this, &FindBar::next);
  connect(next_button, &QToolButton::clicked, this, &FindBar::next);
  connect(close_button, &QToolButton::clicked, this, &QWidget::hide);
  hide();
}

void FindBar::open() {
  show();
  field_->setFocus();
  field_->selectAll();
  search();
}

void FindBar::search() {
  hits_.clear();
  const QString words = field_->text();
  if (!words.isEmpty())
    for (const app::StoredMessage& message : conversation_.messages())
      if (conversation_.shown_text(message).contains(words, Qt::CaseInsensitive)) hits_.push_back(message.id);
  count_->setText(words.isEmpty() ? QString()
                  : hits_.empty() ? tr("none")
                                  : counted(hits_.size(), tr("message"), tr("messages")));
}

void FindBar::next() {
  if (isHidden()) return open();
  search();
  if (hits_.empty()) return;
  std::size_t pick = 0;
  for (std::size_t i = 0; i < hits_.size(); ++i)
    if (hits_[i] == last_) pick = (i + 1) % hits_.size();
  last_ = hits_[pick];
  count_->setText(tr("%1 of %2").arg(pick + 1).arg(hits_.size()));
  Q_EMIT found(hits_[pick]);
}

/// Esc closes the bar while it has the focus; elsewhere it stops a reply.
bool FindBar::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape)
    return event->accept(), true;
  return QWidget::event(event);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return hide();
  QWidget::keyPressEvent(event);
}

}  // namespace lathe::ui
