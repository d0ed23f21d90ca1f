// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/message_widget.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "ui/panels/chat/message_tools.h"

namespace lathe::ui {
namespace {

constexpr int kInset = 14, kCardTop = 5, kCardBottom = 11, kMessageHead = 26, kFooterGap = 8, kEditorRow = 36,
              kEditorMax = 360, kReasoningGap = 6;

bool setting_is_on(app::Settings& settings, const char* key) {
  const engine::Json value = settings.get(key);
  return value.is_boolean() && value.get<bool>();
}

}  // namespace

EditorKey editor_key_of(const QEvent& event) {
  if (event.type() != QEvent::ShortcutOverride && event.type() != QEvent::KeyPress) return EditorKey::other;
  const auto& key = static_cast<const QKeyEvent&>(event);
  if (key.key() == Qt::Key_Escape) return EditorKey::leave;
  const bool enter = key.key() == Qt::Key_Return || key.key() == Qt::Key_Enter;
  return enter && key.modifiers().testFlag(Qt::ControlModifier) ? EditorKey::save : EditorKey::other;
}

QString role_word(const std::string& role) {
  if (role == "user") return MessageWidget::tr("User");
  if (role == "assistant") return MessageWidget::tr("Assistant");
  if (role == "system") return MessageWidget::tr("System");
  return MessageWidget::tr("Tool");
}

QColor role_color(const Tokens& t, const std::string& role) {
  if (role == "user") return t.role_user;
  if (role == "assistant") return t.role_assistant;
  return role == "system" ? t.role_system : t.role_tool;
}

void paint_role(QPainter& painter, const Theme& theme, const std::string& role, int x, const QRect& row) {
  const QColor color = role_color(theme.tokens(), role);
  painter.save();
  painter.setRenderHint(QPainter::Antialiasing);
  painter.setPen(Qt::NoPen);
  painter.setBrush(color);
  painter.drawRoundedRect(QRectF(x, row.center().y() - theme.px(6) + 0.5, theme.px(3), theme.px(12)), 1.5, 1.5);
  painter.setFont(theme.font(12, QFont::DemiBold));
  painter.setPen(color);
  painter.drawText(row.adjusted(x - row.left() + theme.px(10), 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, role_word(role));
  painter.restore();
}

MessageWidget::MessageWidget(const PanelContext& context, std::int64_t message, QWidget* parent)
    : QWidget(parent), context_(context), message_(message) {
  setObjectName(QStringLiteral("message.%1").arg(message));
  setFocusPolicy(Qt::StrongFocus);
  setAttribute(Qt::WA_Hover);
  if (const app::StoredMessage* stored = context.conversation.find(message)) role_ = stored->role;
  setAccessibleName(tr("%1 message").arg(role_word(role_)));
  body_ = new MarkdownView(context.theme, this);
  body_->set_formatted(!is_user() && setting_is_on(context.workbench.settings(), "chat/render_markdown"));
  footer_ = new MessageFooter(context.theme, setting_is_on(context.workbench.settings(), "appearance/reduced_motion"), this);
  connect(body_, &MarkdownView::height_changed, this, &MessageWidget::height_changed);
  connect(footer_, &MessageFooter::why_asked, this, [this] { Q_EMIT tool_used(message_, MessageTool::inspect); });
  refresh();
}

void MessageWidget::refresh() {
  const app::StoredMessage* stored = context_.conversation.find(message_);
  if (stored == nullptr) return;
  const app::StoredMessage& shown = *stored;
  const bool running = is_running();
  body_->set_streaming(running);
  body_->set_text(QString::fromStdString(shown.text));
  body_->setVisible(editor_ == nullptr && (running || !shown.text.empty()));
  refresh_versions();
  refresh_error(shown);
  if (!running) refresh_reasoning(footer_of(shown.footer_json).reasoning);
  if (running) refresh_live();
  else if (!shown.footer_json.empty()) footer_->show_footer(footer_of(shown.footer_json));
  footer_->setVisible(running || !shown.footer_json.empty());
  if (tools_ != nullptr) show_tools(!running && (underMouse() || hasFocus()));
  place();
  Q_EMIT height_changed();
}

void MessageWidget::refresh_versions() {
  const std::vector<std::int64_t> all = context_.conversation.versions(message_);
  if (all.size() > 1 && versions_ == nullptr) make_versions();
  if (versions_ == nullptr) return;
  const auto at = std::find(all.begin(), all.end(), message_) - all.begin();
  versions_->setVisible(all.size() > 1 && !is_running());
  version_word_->setText(tr("%1 / %2").arg(at + 1).arg(all.size()));
  versions_->findChild<QWidget*>(QStringLiteral("message.previous"))->setEnabled(at > 0);
  versions_->findChild<QWidget*>(QStringLiteral("message.next"))->setEnabled(static_cast<std::size_t>(at) + 1 < all.size());
}

void MessageWidget::refresh_live() {
  footer_->show_live(context_.writer.stream());
  refresh_reasoning(context_.writer.reasoning());
}

void MessageWidget::refresh_reasoning(const QString& reasoning) {
  const bool shown = !reasoning.isEmpty() && !is_editing();
  if (shown && reasoning_ == nullptr) {
    reasoning_ = new ReasoningFold(context_.theme, this);
    connect(reasoning_, &Section::folded, this, [this] {
      place();
      Q_EMIT height_changed();
    });
    connect(reasoning_, &ReasoningFold::text_shown, this, &MessageWidget::height_changed);
    reasoning_->show();
    place();
    Q_EMIT height_changed();
  }
  if (reasoning_ == nullptr) return;
  if (shown) {
    const ChatStream* stream = context_.writer.stream();
    const bool thinks = is_running() && stream != nullptr && stream->text().isEmpty();
    reasoning_->set_reasoning(reasoning, thinks);
  }
  reasoning_->setVisible(shown);
}

void MessageWidget::append(const QString& delta) {
  body_->append(delta);
  refresh_live();
}

void MessageWidget::refresh_error(const app::StoredMessage& version) {
  const QString error = footer_of(version.footer_json).error;
  // A reply that ended has a footer: without one, the program ended first.
  const bool interrupted = version.partial && version.footer_json.empty();
  if (is_running() || (error.isEmpty() && !interrupted)) {
    if (error_ != nullptr) error_->hide(), error_->deleteLater();  // this call may come from its own button
    error_ = nullptr;
    return;
  }
  if (error_ == nullptr) error_ = new InlineMessage(context_.theme, QStringLiteral("message.error"), this);
  if (interrupted) return show_interrupted(version);
  std::vector<InlineMessage::Button> buttons;
  buttons.push_back({QStringLiteral("retry"), tr("Retry"), [this] { Q_EMIT tool_used(message_, MessageTool::regenerate); }});
  if (!version.text.empty())
    buttons.push_back(
        {QStringLiteral("continue"), tr("Continue"), [this] { Q_EMIT tool_used(message_, MessageTool::continue_reply); }});
  error_->set(MessageTone::error,
              version.text.empty() ? tr("No reply") : tr("The reply was cut off; the text so far is kept"), error,
              std::move(buttons));
  error_->setVisible(true);
}

void MessageWidget::show_interrupted(const app::StoredMessage& version) {
  const bool empty = version.text.empty();
  std::vector<InlineMessage::Button> buttons;
  if (empty)
    buttons.push_back(
        {QStringLiteral("retry"), tr("Retry"), [this] { Q_EMIT tool_used(message_, MessageTool::regenerate); }});
  else
    buttons.push_back(
        {QStringLiteral("continue"), tr("Continue"), [this] { Q_EMIT tool_used(message_, MessageTool::continue_reply); }});
  error_->set(
      MessageTone::warning, tr("Interrupted"),
      empty ? tr("Lathe ended before the reply began.") : tr("Lathe ended during this reply; the text so far is kept."),
      std::move(buttons));
  error_->setVisible(true);
}

void MessageWidget::make_versions() {
  const Theme& theme = context_.theme;
  versions_ = new QWidget(this);
  auto* row = new QHBoxLayout(versions_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  auto* previous = make_icon_button(theme, QStringLiteral("message.previous"), QStringLiteral("chevron-left"),
                                    tr("Previous version"), versions_, 24);
  auto* next = make_icon_button(theme, QStringLiteral("message.next"), QStringLiteral("chevron-right"), tr("Next version"),
                                versions_, 24);
  version_word_ =
      make_label(theme, QStringLiteral("message.version"), QString(), versions_, 12, QFont::Medium, TextTone::text);
  row->addWidget(previous);
  row->addWidget(version_word_);
  row->addWidget(next);
  connect(previous, &QToolButton::clicked, this, [this] { Q_EMIT tool_used(message_, MessageTool::previous); });
  connect(next, &QToolButton::clicked, this, [this] { Q_EMIT tool_used(message_, MessageTool::next); });
  versions_->show();
}

void MessageWidget::make_tools() {
  tools_ = new MessageTools(context_.theme, role_, this);
  connect(static_cast<MessageTools*>(tools_), &MessageTools::used, this,
          [this](MessageTool tool) { Q_EMIT tool_used(message_, tool); });
  for (QToolButton* button : tools_->findChildren<QToolButton*>()) button->installEventFilter(this);
}

QWidgetList MessageWidget::focus_parts() {
  QWidgetList parts = {this};
  for (QWidget* group :
       {versions_, tools_, static_cast<QWidget*>(reasoning_), static_cast<QWidget*>(body_), static_cast<QWidget*>(editor_),
        editor_row_, static_cast<QWidget*>(error_), static_cast<QWidget*>(footer_)}) {
    if (group == nullptr) continue;
    if (group->focusPolicy() != Qt::NoFocus) parts.append(group);
    for (QWidget* part : group->findChildren<QWidget*>())
      if (part->focusPolicy() != Qt::NoFocus && part->focusProxy() == nullptr) parts.append(part);
  }
  return parts;
}

void MessageWidget::show_tools(bool shown) {
  const bool wanted = shown && !is_running() && !is_editing();
  if (wanted && tools_ == nullptr) make_tools();
  if (tools_ == nullptr || tools_->isHidden() == !wanted) return;
  tools_->setVisible(wanted);
  if (wanted) Q_EMIT parts_changed();
  place();
  update();
}

bool MessageWidget::eventFilter(QObject* object, QEvent* event) {
  if (editor_ != nullptr && object == editor_) {
    // Esc and Ctrl+Enter are also actions of the chat; in the editor, the editor handles them.
    const EditorKey key = editor_key_of(*event);
    if (key != EditorKey::other && event->type() == QEvent::ShortcutOverride) return event->accept(), true;
    if (key == EditorKey::leave) return end_editing(), true;
    if (key == EditorKey::save) return finish_editing(is_user()), true;
  }
  if (object != editor_ && event->type() == QEvent::FocusIn) show_tools(true);
  if (object != editor_ && event->type() == QEvent::FocusOut) hide_tools_later();
  return QWidget::eventFilter(object, event);
}

/// Hides them unless the focus has moved to another part of the message.
void MessageWidget::hide_tools_later() {
  QMetaObject::invokeMethod(
      this, [this] { show_tools(underMouse() || hasFocus() || isAncestorOf(window()->focusWidget())); },
      Qt::QueuedConnection);
}

void MessageWidget::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  show_tools(true);
  update();
}

void MessageWidget::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  hide_tools_later();
  update();
}

void MessageWidget::start_editing() {
  const app::StoredMessage* stored = context_.conversation.find(message_);
  if (stored == nullptr || is_editing() || is_running()) return;
  const Theme& theme = context_.theme;
  editor_ = new QPlainTextEdit(context_.conversation.shown_text(*stored), this);
  editor_->setObjectName(QStringLiteral("message.editor"));
  editor_->setAccessibleName(tr("Edit the message"));
  editor_->setFont(theme.font(14));
  editor_->installEventFilter(this);
  editor_row_ = new QWidget(this);
  auto* row = new QHBoxLayout(editor_row_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(theme.px(6));
  row->addStretch(1);
  QPushButton* cancel =
      make_button(theme, QStringLiteral("message.cancel"), tr("Cancel"), editor_row_, ButtonLook::ghost, true);
  QPushButton* save = make_button(theme, QStringLiteral("message.save"), tr("Save"), editor_row_, ButtonLook::plain, true);
  row->addWidget(cancel);
  row->addWidget(save);
  connect(cancel, &QPushButton::clicked, this, &MessageWidget::end_editing);
  connect(save, &QPushButton::clicked, this, [this] { finish_editing(false); });
  if (is_user()) {
    QPushButton* send = make_button(theme, QStringLiteral("message.save_and_send"), tr("Save and send"), editor_row_,
                                    ButtonLook::primary, true);
    row->addWidget(send);
    connect(send, &QPushButton::clicked, this, [this] { finish_editing(true); });
  }
  body_->hide();
  if (reasoning_ != nullptr) reasoning_->hide();
  show_tools(false);
  editor_->show();
  editor_row_->show();
  connect(editor_, &QPlainTextEdit::textChanged, this, &MessageWidget::height_changed);
  editor_->setFocus();
  editor_->moveCursor(QTextCursor::End);
  Q_EMIT height_changed();
}

void MessageWidget::end_editing() {
  if (!is_editing()) return;
  editor_->deleteLater();
  editor_row_->deleteLater();
  editor_->hide();
  editor_row_->hide();
  editor_ = nullptr;
  editor_row_ = nullptr;
  setFocus();
  refresh();
}

void MessageWidget::finish_editing(bool and_send) {
  const QString text = editor_->toPlainText();
  end_editing();
  Q_EMIT edited(message_, text, and_send);
}

QRect MessageWidget::inner() const {
  const Theme& theme = context_.theme;
  const int bottom = is_user() ? theme.px(kCardBottom) : theme.px(2);
  return rect().adjusted(theme.px(kInset), theme.px(kCardTop), -theme.px(kInset), -bottom);
}

int MessageWidget::height_for(int width) {
  const Theme& theme = context_.theme;
  const int inner_width = width - 2 * theme.px(kInset);
  int height = theme.px(kCardTop) + theme.px(kMessageHead) + (is_user() ? theme.px(kCardBottom) : theme.px(2));
  if (editor_ != nullptr) {
    const int lines = static_cast<int>(std::ceil(editor_->document()->size().height()));
    const int text = lines * QFontMetrics(editor_->font()).lineSpacing() + theme.px(20);
    return height + std::clamp(text, theme.px(60), theme.px(kEditorMax)) + theme.px(kEditorRow);
  }
  if (reasoning_ != nullptr && !reasoning_->isHidden())
    height += reasoning_->height_for(inner_width) + theme.px(kReasoningGap);
  if (!body_->isHidden()) height += body_->height_for(inner_width);
  if (error_ != nullptr) height += error_->layout()->heightForWidth(inner_width) + theme.px(kFooterGap);
  if (!footer_->isHidden()) height += footer_->sizeHint().height() + theme.px(kFooterGap);
  return height;
}

void MessageWidget::place() {
  const Theme& theme = context_.theme;
  const QRect box = inner();
  int y = box.top() + theme.px(kMessageHead);
  if (editor_ != nullptr) {
    editor_->setGeometry(box.left(), y, box.width(), box.bottom() - y - theme.px(kEditorRow) + 1);
    editor_row_->setGeometry(box.left(), box.bottom() - theme.px(kEditorRow - 6), box.width(), theme.px(kEditorRow - 6));
  }
  if (reasoning_ != nullptr && !reasoning_->isHidden()) {
    const int height = reasoning_->height_for(box.width());
    reasoning_->setGeometry(box.left(), y, box.width(), height);
    y += height + theme.px(kReasoningGap);
  }
  if (!body_->isHidden()) {
    const int height = body_->height_for(box.width());
    body_->setGeometry(box.left(), y, box.width(), height);
    y += height;
  }
  if (error_ != nullptr) {
    const int height = error_->layout()->heightForWidth(box.width());
    error_->setGeometry(box.left(), y + theme.px(kFooterGap), box.width(), height);
    y += height + theme.px(kFooterGap);
  }
  footer_->setGeometry(box.left(), y + theme.px(kFooterGap), box.width(), footer_->sizeHint().height());
  int right = box.right() + 1;
  if (tools_ != nullptr && !tools_->isHidden()) {
    const QSize size = tools_->sizeHint();
    tools_->setGeometry(right - size.width(), box.top() - theme.px(2), size.width(), size.height());
    right -= size.width() + theme.px(10);
  }
  if (versions_ != nullptr) {
    const QSize size = versions_->sizeHint();
    versions_->setGeometry(right - size.width(), box.top() + (theme.px(24) - size.height()) / 2, size.width(),
                           size.height());
  }
}

void MessageWidget::resizeEvent(QResizeEvent*) { place(); }

void MessageWidget::enterEvent(QEnterEvent*) { show_tools(true); }

void MessageWidget::leaveEvent(QEvent*) {
  show_tools(hasFocus() || (window()->focusWidget() != nullptr && isAncestorOf(window()->focusWidget())));
}

void MessageWidget::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Delete) return Q_EMIT tool_used(message_, MessageTool::remove);
  QWidget::keyPressEvent(event);
}

void MessageWidget::paintEvent(QPaintEvent*) {
  const Theme& theme = context_.theme;
  const Tokens& t = theme.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  if (is_user()) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(t.user_ground);
    painter.drawRoundedRect(rect(), theme.px(10), theme.px(10));
  }
  if (hasFocus()) {
    painter.setPen(QPen(t.focus, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme.px(10), theme.px(10));
  }
  const QRect box = inner();
  paint_role(painter, theme, role_, box.left(), QRect(box.left(), box.top() - theme.px(1), box.width(), theme.px(22)));
}

}  // namespace lathe::ui
