// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/find_bar.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <algorithm>

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
  auto* previous_button = make_icon_button(theme, QStringLiteral("find_bar.previous"), QStringLiteral("chevron-up"),
                                           tr("Previous message that matches (Shift+F3)"), this, 24);
  auto* next_button = make_icon_button(theme, QStringLiteral("find_bar.next"), QStringLiteral("chevron-down"),
                                       tr("Next message that matches (F3)"), this, 24);
  auto* close_button =
      make_icon_button(theme, QStringLiteral("find_bar.close"), QStringLiteral("close"), tr("Close"), this, 24);
  row->addWidget(field_, 1);
  row->addWidget(count_);
  row->addWidget(previous_button);
  row->addWidget(next_button);
  row->addWidget(close_button);
  connect(field_, &QLineEdit::textEdited, this, &FindBar::take_text);
  connect(previous_button, &QToolButton::clicked, this, [this] { go(-1); });
  connect(next_button, &QToolButton::clicked, this, [this] { go(1); });
  connect(close_button, &QToolButton::clicked, this, &QWidget::hide);
  const auto again = [this] {
    if (isVisible()) search(), refresh_count();
  };
  connect(&conversation, &Conversation::path_changed, this, again);
  connect(&conversation, &Conversation::changed, this, again);
  connect(&conversation, &Conversation::reset, this, [this, again] {
    last_ = 0;
    again();
  });
  hide();
}

void FindBar::open() {
  show();
  field_->setFocus();
  field_->selectAll();
  search();
  refresh_count();
}

void FindBar::search() {
  hits_.clear();
  const QString words = field_->text();
  if (words.isEmpty()) return;
  for (const app::StoredMessage& message : conversation_.messages())
    if (conversation_.shown_text(message).contains(words, Qt::CaseInsensitive)) hits_.push_back(message.id);
}

void FindBar::refresh_count() {
  const auto at = std::find(hits_.begin(), hits_.end(), last_);
  count_->setText(field_->text().isEmpty() ? QString()
                  : hits_.empty()          ? tr("none")
                  : at == hits_.end()      ? counted(hits_.size(), tr("message"), tr("messages"))
                                           : tr("%1 of %2").arg(at - hits_.begin() + 1).arg(hits_.size()));
}

void FindBar::show_hit(std::size_t hit) {
  last_ = hits_[hit];
  refresh_count();
  Q_EMIT found(last_);
}

/// Stays at the current message as long as it has the text.
void FindBar::take_text() {
  search();
  const int from = conversation_.index_of(last_);
  const auto hit = std::find_if(hits_.begin(), hits_.end(),
                                [&](std::int64_t message) { return conversation_.index_of(message) >= from; });
  if (hits_.empty()) return refresh_count();
  show_hit(hit == hits_.end() ? 0 : static_cast<std::size_t>(hit - hits_.begin()));
}

void FindBar::go(int step) {
  if (isHidden()) return open();
  search();
  if (hits_.empty()) return refresh_count();
  const auto at = std::find(hits_.begin(), hits_.end(), last_);
  const auto n = static_cast<std::ptrdiff_t>(hits_.size());
  const std::ptrdiff_t next = at != hits_.end() ? at - hits_.begin() + step : step > 0 ? 0 : n - 1;
  show_hit(static_cast<std::size_t>((next + n) % n));
}

/// Esc closes the bar while it has the focus; elsewhere it stops a reply.
bool FindBar::event(QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->key() == Qt::Key_Escape)
    return event->accept(), true;
  return QWidget::event(event);
}

void FindBar::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Escape) return hide();
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
    return go(event->modifiers().testFlag(Qt::ShiftModifier) ? -1 : 1);
  QWidget::keyPressEvent(event);
}

}  // namespace lathe::ui
