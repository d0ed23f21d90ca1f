// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/system_card.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>

#include "ui/models/conversation.h"
#include "ui/panels/chat/message_widget.h"
#include "ui/theme/digits.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kCardHead = 28, kEditor = 96;

}  // namespace

SystemCard::SystemCard(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("system_card"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(6), 0, theme.px(10), 0);
  column->setSpacing(theme.px(4));
  auto* head = new QHBoxLayout;
  fold_ = make_icon_button(theme, QStringLiteral("system_card.fold"), QStringLiteral("chevron-right"),
                           tr("Open the system prompt"), this, 20);
  head->addWidget(fold_);
  head->addStretch(1);
  column->addLayout(head);
  head->setContentsMargins(0, theme.px(4), 0, theme.px(4));
  editor_ = new QPlainTextEdit(this);
  editor_->setObjectName(QStringLiteral("system_card.editor"));
  editor_->setAccessibleName(tr("System prompt"));
  editor_->setFont(theme.font(13));
  editor_->setFixedHeight(theme.px(kEditor));
  editor_->installEventFilter(this);
  column->addWidget(editor_);
  row_ = new QWidget(this);
  auto* row = new QHBoxLayout(row_);
  row->setContentsMargins(0, 0, 0, theme.px(8));
  QPushButton* remove =
      make_button(theme, QStringLiteral("system_card.remove"), tr("Remove"), row_, ButtonLook::ghost, true);
  QPushButton* save = make_button(theme, QStringLiteral("system_card.save"), tr("Save"), row_, ButtonLook::plain, true);
  row->addStretch(1);
  row->addWidget(remove);
  row->addWidget(save);
  column->addWidget(row_);
  connect(fold_, &QToolButton::clicked, this, [this] { set_open(!open_); });
  connect(save, &QPushButton::clicked, this, [this] { keep(); });
  connect(remove, &QPushButton::clicked, this, [this] { context_.conversation.remove(message()); });
  for (const auto signal : {&Conversation::inserted, &Conversation::removed, &Conversation::changed})
    connect(&context.conversation, signal, this, [this] { refresh(); });
  connect(&context.conversation, &Conversation::reset, this, [this] { set_open(false), refresh(); });
  set_open(false);
  refresh();
}

std::int64_t SystemCard::message() const {
  const std::vector<app::StoredMessage>& messages = context_.conversation.messages();
  return !messages.empty() && messages.front().role == "system" ? messages.front().id : 0;
}

void SystemCard::set_open(bool open) {
  open_ = open;
  editor_->setVisible(open);
  row_->setVisible(open);
  fold_->setIcon(context_.theme.icon(open ? QStringLiteral("chevron-down") : QStringLiteral("chevron-right")));
  if (open) editor_->setFocus();
  update();
}

void SystemCard::refresh() {
  const app::StoredMessage* stored = context_.conversation.find(message());
  setVisible(stored != nullptr);
  if (stored == nullptr) return;
  const QString text = context_.conversation.shown_text(*stored);
  if (editor_->toPlainText() != text) editor_->setPlainText(text);
  line_ = text.simplified();
  setAccessibleName(tr("System prompt: %1").arg(line_.left(200)));
  update();
}

void SystemCard::keep() {
  context_.conversation.edit(message(), editor_->toPlainText());
  set_open(false);
}

bool SystemCard::eventFilter(QObject* object, QEvent* event) {
  const EditorKey key = editor_key_of(*event);
  if (key != EditorKey::other && event->type() == QEvent::ShortcutOverride) return event->accept(), true;
  if (key == EditorKey::save) return keep(), true;
  if (key == EditorKey::leave) return refresh(), set_open(false), true;  // discards the edit
  return QWidget::eventFilter(object, event);
}

void SystemCard::set_token_count(qint64 tokens) {
  count_ = tokens > 0 ? tr("%1 tok").arg(QLocale().toString(tokens)) : QString();
  update();
}

void SystemCard::mousePressEvent(QMouseEvent* event) {
  if (event->position().y() <= context_.theme.px(kCardHead)) set_open(!open_);
}

void SystemCard::paintEvent(QPaintEvent*) {
  const Theme& theme = context_.theme;
  const Tokens& t = theme.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(QPen(t.border, 1));
  painter.setBrush(t.page);
  painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(8), theme.px(8));
  const QRect head(theme.px(32), 0, width() - theme.px(46), theme.px(kCardHead));
  paint_role(painter, theme, "system", head.left(), head);
  painter.setFont(theme.font(12));
  painter.setPen(t.text3);
  const qreal count = draw_digits(painter, head, Qt::AlignRight | Qt::AlignVCenter, count_);
  if (open_) return;
  const QString word = role_word("system");
  const int x = head.left() + theme.px(24) + QFontMetrics(theme.font(12, QFont::DemiBold)).horizontalAdvance(word);
  painter.setFont(theme.font(13));
  painter.setPen(t.text2);
  const QRect space(x, 0, head.right() - static_cast<int>(count) - theme.px(12) - x, head.height());
  painter.drawText(space, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(line_, Qt::ElideRight, space.width()));
}

}  // namespace lathe::ui
