// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/system_card.h"

#include <QHBoxLayout>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/conversation.h"
#include "ui/models/deletions.h"
#include "ui/panels/chat/message_widget.h"
#include "ui/theme/digits.h"
#include "ui/widgets/controls.h"

namespace lathe::ui {
namespace {

constexpr int kCardHead = 28, kEditor = 96, kSystemCountWidth = 64;

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
  make_versions(head);
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
  connect(remove, &QPushButton::clicked, this, [this] { remove_prompt(); });
  for (const auto signal : {&Conversation::path_changed, &Conversation::changed})
    connect(&context.conversation, signal, this, [this] { refresh(); });
  connect(&context.conversation, &Conversation::reset, this, [this] { set_open(false), refresh(); });
  set_open(false);
  refresh();
}

/// The arrows of an edited system prompt, left of its token count.
void SystemCard::make_versions(QHBoxLayout* head) {
  const Theme& theme = context_.theme;
  head->addStretch(1);
  versions_ = new QWidget(this);
  auto* row = new QHBoxLayout(versions_);
  row->setContentsMargins(0, 0, theme.px(kSystemCountWidth), 0);
  row->setSpacing(0);
  auto* previous = make_icon_button(theme, QStringLiteral("system_card.previous"), QStringLiteral("chevron-left"),
                                    tr("Previous version of the system prompt, with its conversation"), versions_, 20);
  auto* next = make_icon_button(theme, QStringLiteral("system_card.next"), QStringLiteral("chevron-right"),
                                tr("Next version of the system prompt, with its conversation"), versions_, 20);
  version_word_ =
      make_label(theme, QStringLiteral("system_card.version"), QString(), versions_, 12, QFont::Medium, TextTone::text);
  for (QWidget* part : {static_cast<QWidget*>(previous), static_cast<QWidget*>(version_word_), static_cast<QWidget*>(next)})
    row->addWidget(part);
  connect(previous, &QToolButton::clicked, this, [this] { step_version(-1); });
  connect(next, &QToolButton::clicked, this, [this] { step_version(1); });
  head->addWidget(versions_);
}

void SystemCard::remove_prompt() {
  if (message() != 0) context_.undo.push(new MessageDeletion(context_.conversation, {message()}));
}

int SystemCard::shown_version() const {
  const std::vector<std::int64_t> all = context_.conversation.versions(message());
  return static_cast<int>(std::find(all.begin(), all.end(), message()) - all.begin());
}

void SystemCard::step_version(int step) { context_.conversation.show_version(message(), shown_version() + step); }

std::int64_t SystemCard::message() const {
  const app::MessagePath& messages = context_.conversation.messages();
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
  const std::size_t n_versions = context_.conversation.versions(stored->id).size();
  versions_->setVisible(n_versions > 1);
  version_word_->setText(tr("%1 / %2").arg(shown_version() + 1).arg(n_versions));
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
  const int right = versions_->isHidden() ? head.right() - static_cast<int>(count) : versions_->x();
  const QRect space(x, 0, right - theme.px(12) - x, head.height());
  painter.drawText(space, Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(line_, Qt::ElideRight, space.width()));
}

}  // namespace lathe::ui
