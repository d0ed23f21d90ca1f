// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/chat/composer.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLocale>
#include <QPainter>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "ui/models/conversation.h"
#include "ui/models/counted.h"
#include "ui/panels/chat/text_attachment.h"
#include "ui/widgets/controls.h"
#include "ui/widgets/quiet_field.h"

namespace lathe::ui {
namespace {

constexpr int kFewestLines = 1, kMostLines = 9;

/// Shows a key as a small grey cap.
class KeyHint final : public QLabel {
 public:
  KeyHint(const Theme& theme, QWidget* parent) : QLabel(parent), theme_(theme) {
    setFont(theme.font(11));
    setAlignment(Qt::AlignCenter);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Tokens& t = theme_.tokens();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(t.border, 1));
    painter.setBrush(t.sunken);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), theme_.px(4), theme_.px(4));
    painter.setPen(t.text2);
    painter.drawText(rect(), Qt::AlignCenter, text());
  }

 private:
  const Theme& theme_;
};

}  // namespace

Composer::Composer(const PanelContext& context, QWidget* parent) : QWidget(parent), context_(context) {
  setObjectName(QStringLiteral("composer"));
  const Theme& theme = context.theme;
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(theme.px(14), theme.px(10), theme.px(8), theme.px(7));
  column->setSpacing(theme.px(4));
  field_ = new DraftField(this);
  field_->setObjectName(QStringLiteral("composer.field"));
  field_->setAccessibleName(tr("Message"));
  field_->setFont(theme.font(14));
  field_->setFrameShape(QFrame::NoFrame);
  field_->setTabChangesFocus(true);
  field_->setStyleSheet(
      QStringLiteral("QPlainTextEdit { background: transparent; border: none; padding: 0; min-height: 0; }"));
  field_->document()->setDocumentMargin(2);
  field_->installEventFilter(this);
  column->addWidget(field_);
  make_row();
  keeper_ = new DraftKeeper(
      context, [this] { return text(); }, this);
  field_->set_text(keeper_->load());
  connect(&context.conversation, &Conversation::reset, this, &Composer::change_chat);
  connect(&context.conversation, &Conversation::title_changed, keeper_, &DraftKeeper::follow_chat);
  connect(field_, &QPlainTextEdit::textChanged, this, &Composer::take_change);
  connect(field_, &DraftField::left_out, this, [this](qint64 characters) {
    show_notice(tr("A message has at most %L1 characters").arg(DraftField::kMostCharacters),
                tr("Not attached: %1.").arg(counted(static_cast<quint64>(characters), tr("character"), tr("characters"))));
  });
  fit_height();
  set_running(false);
}

void Composer::make_row() {
  const Theme& theme = context_.theme;
  auto* row = new QHBoxLayout;
  row->setSpacing(theme.px(8));
  role_ = new Quiet<QComboBox>(this);
  role_->setObjectName(QStringLiteral("composer.role"));
  role_->setAccessibleName(tr("Role of the message"));
  role_->setToolTip(tr("Role of the message (Ctrl+Shift+M). Ctrl+I inserts it without a reply."));
  role_->setProperty("compact", true);
  role_->setFont(theme.font(12, QFont::Medium));
  role_->addItem(tr("User"), QStringLiteral("user"));
  role_->addItem(tr("Assistant"), QStringLiteral("assistant"));
  role_->addItem(tr("System"), QStringLiteral("system"));
  role_->setFixedSize(theme.px(100), theme.px(24));
  auto* attach_button = make_icon_button(theme, QStringLiteral("composer.attach"), QStringLiteral("attach"),
                                         tr("Attach a text file"), this, 24);
  connect(attach_button, &QToolButton::clicked, this, &Composer::attach);
  mode_ = make_label(theme, QStringLiteral("composer.mode"), tr("Complete"), this, 12, QFont::Medium);
  mode_->setToolTip(tr("This model has no chat template: texts go to it as they are, and it continues them."));
  reason_ = make_label(theme, QStringLiteral("composer.reason"), QString(), this, 12, QFont::Normal, TextTone::text3);
  count_ = make_label(theme, QStringLiteral("composer.count"), QString(), this, 12, QFont::Normal, TextTone::text3);
  hint_ = new KeyHint(theme, this);
  hint_->setObjectName(QStringLiteral("composer.hint"));
  send_ = make_button(theme, QStringLiteral("composer.send"), tr("Send"), this, ButtonLook::primary);
  send_->setIcon(theme.icon(QStringLiteral("send"), IconTone::on_accent));
  stop_ = make_button(theme, QStringLiteral("composer.stop"), tr("Stop"), this);
  stop_->setIcon(theme.icon(QStringLiteral("stop"), IconTone::error));
  const int width = std::max(send_->sizeHint().width(), theme.px(78));
  for (QPushButton* button : {send_, stop_}) button->setFixedWidth(width);
  connect(send_, &QPushButton::clicked, this, &Composer::send_asked);
  connect(stop_, &QPushButton::clicked, context_.actions[QStringLiteral("chat.stop")], &QAction::trigger);
  connect(role_, &QComboBox::currentIndexChanged, this, [this] {
    context_.workbench.settings().set("chat/role", role());
    refresh_state();
  });
  // The next letters are for the message.
  connect(role_, &QComboBox::activated, this, [this] { field_->setFocus(); });
  for (QWidget* widget : {static_cast<QWidget*>(role_), static_cast<QWidget*>(mode_), static_cast<QWidget*>(attach_button)})
    row->addWidget(widget);
  // Takes what is left, and does not widen the page.
  reason_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  reason_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row->addWidget(reason_, 1);
  for (QWidget* widget : {static_cast<QWidget*>(count_), static_cast<QWidget*>(hint_), static_cast<QWidget*>(send_),
                          static_cast<QWidget*>(stop_)})
    row->addWidget(widget);
  static_cast<QVBoxLayout*>(layout())->addLayout(row);
  const engine::Json last = context_.workbench.settings().get("chat/role");
  if (last.is_string())
    role_->setCurrentIndex(std::max(0, role_->findData(QString::fromStdString(last.get<std::string>()))));
}

bool Composer::enter_sends() const {
  const engine::Json value = context_.workbench.settings().get("chat/enter_sends");
  return !value.is_boolean() || value.get<bool>();
}

void Composer::set_text(const QString& text) { field_->set_text(text); }

/// Shows the draft of the chat that is shown now, without marking it as changed.
void Composer::change_chat() {
  const QString draft = keeper_->change_chat();
  {
    const QSignalBlocker no_change(field_);
    field_->set_text(draft);
    field_->document()->clearUndoRedoStacks();
  }
  if (notice_ != nullptr) notice_->hide();
  fit_height();
  refresh_state();
  Q_EMIT draft_changed();
}

void Composer::take_change() {
  if (notice_ != nullptr) notice_->hide();
  keeper_->changed();
  fit_height();
  refresh_state();
  Q_EMIT draft_changed();
}

void Composer::show_notice(const QString& what, const QString& numbers) {
  if (notice_ == nullptr) {
    notice_ = new InlineMessage(context_.theme, QStringLiteral("composer.notice"), this);
    static_cast<QVBoxLayout*>(layout())->insertWidget(0, notice_);
  }
  notice_->set(MessageTone::warning, what, numbers, {});
  notice_->show();
}

std::string Composer::role() const {
  return context_.bridge.completes() ? "user" : role_->currentData().toString().toStdString();
}

/// Why text cannot be sent; empty: it can.
QString Composer::obstacle() const {
  if (context_.bridge.can_chat()) return {};
  switch (context_.bridge.model_status().state) {
    case app::ModelState::ready: return tr("This model gives vectors and no text");
    case app::ModelState::loading: return tr("The model is loading");
    default: return tr("Load a model to send");
  }
}

void Composer::cycle_role() { role_->setCurrentIndex((role_->currentIndex() + 1) % role_->count()); }

void Composer::set_running(bool running) {
  const bool had_focus = send_->hasFocus() || stop_->hasFocus();
  send_->setVisible(!running);
  stop_->setVisible(running);
  hint_->setText(running ? tr("Esc") : enter_sends() ? tr("Enter") : tr("Ctrl+Enter"));
  hint_->setFixedSize(QFontMetrics(hint_->font()).horizontalAdvance(hint_->text()) + context_.theme.px(14),
                      context_.theme.px(18));
  if (had_focus) field_->setFocus();
  refresh_state();
}

void Composer::refresh_state() {
  const app::ModelState state = context_.bridge.model_status().state;
  const bool inserts = role() != "user";
  const bool has_text = field_->has_words();
  send_->setEnabled(inserts ? has_text : context_.bridge.can_chat() && (has_text || context_.conversation.awaits_answer()));
  send_->setText(inserts ? tr("Insert") : tr("Send"));
  const bool completes = context_.bridge.completes();
  role_->setVisible(!completes);
  mode_->setVisible(completes);
  const QString obstacle = this->obstacle();
  reason_->setText(has_text && !inserts ? obstacle : QString());
  send_->setToolTip(inserts ? QString() : obstacle);
  if (state == app::ModelState::loading) field_->setPlaceholderText(tr("Write a message while the model loads"));
  else if (completes) field_->setPlaceholderText(tr("Write a text; the model, which has no chat template, continues it"));
  else if (context_.bridge.lacks_template())
    field_->setPlaceholderText(tr("This model gives vectors and no text: use it on the Serve page"));
  else if (state == app::ModelState::ready) field_->setPlaceholderText(tr("Write a message"));
  else field_->setPlaceholderText(tr("Write a message; load a model to send it"));
  field_->viewport()->update();  // Qt 6.4 repaints a placeholder only when text appears or disappears
}

void Composer::set_token_count(qint64 tokens) {
  count_->setText(tokens > 0 ? tr("%1 tok").arg(QLocale().toString(tokens)) : QString());
}

void Composer::fit_height() {
  const int lines = std::clamp(static_cast<int>(field_->document()->size().height()), kFewestLines, kMostLines);
  const int height = lines * QFontMetrics(field_->font()).lineSpacing() + context_.theme.px(9);
  if (field_->height() == height) return;
  field_->setFixedHeight(height);
  updateGeometry();
}

void Composer::attach() {
  const QStringList files = QFileDialog::getOpenFileNames(this, tr("Attach text files"));
  if (!files.isEmpty()) take_files(files);
}

QString Composer::take_files(const QStringList& files) {
  QStringList refusals;
  for (const QString& file : files) {
    TextAttachment attachment = read_attachment(file);
    field_->moveCursor(QTextCursor::End);
    const bool on_new_line = field_->textCursor().atBlockStart();
    if (!on_new_line) attachment.text.prepend(QLatin1Char('\n'));
    if (attachment.refusal.isEmpty() && attachment.text.size() > field_->free())
      attachment.refusal = tr("%1 does not fit: a message has at most %L2 characters.")
                               .arg(QFileInfo(file).fileName())
                               .arg(DraftField::kMostCharacters);
    if (attachment.refusal.isEmpty()) field_->insert(attachment.text);
    else refusals.append(attachment.refusal);
  }
  field_->setFocus();
  if (!refusals.isEmpty()) show_notice(tr("Not attached"), refusals.join(QLatin1Char('\n')));
  return refusals.join(QLatin1Char(' '));
}

bool Composer::handle_key(int key, Qt::KeyboardModifiers modifiers) {
  if (key != Qt::Key_Return && key != Qt::Key_Enter) return false;
  const Qt::KeyboardModifiers held = modifiers & (Qt::ShiftModifier | Qt::ControlModifier | Qt::AltModifier);
  if (held == Qt::ControlModifier || (held == Qt::NoModifier && enter_sends())) {
    if (send_->isVisible() && send_->isEnabled()) Q_EMIT send_asked();
    else if (!send_->isVisible() && field_->has_words())
      show_notice(tr("A reply is being written"), tr("Esc stops it. The text stays here."));
    return true;
  }
  if (held == Qt::ShiftModifier || held == Qt::NoModifier) {
    field_->insert(QStringLiteral("\n"));
    return true;
  }
  return false;
}

bool Composer::eventFilter(QObject* object, QEvent* event) {
  if (event->type() == QEvent::ShortcutOverride) {
    // Ctrl+Enter is also an action; in this field, the field handles the key.
    const auto* key = static_cast<QKeyEvent*>(event);
    // Ctrl+Z undoes what was typed; after that, what was deleted.
    if (key->matches(QKeySequence::Undo) && !field_->document()->isUndoAvailable()) return event->ignore(), true;
    if (key->matches(QKeySequence::Redo) && !field_->document()->isRedoAvailable()) return event->ignore(), true;
    if (key->key() == Qt::Key_Return && key->modifiers() == Qt::ControlModifier) return event->accept(), true;
  }
  if (event->type() == QEvent::KeyPress) {
    const auto* key = static_cast<QKeyEvent*>(event);
    if (handle_key(key->key(), key->modifiers())) return true;
  }
  if (event->type() == QEvent::FocusIn || event->type() == QEvent::FocusOut) update();
  if (event->type() == QEvent::Resize) QMetaObject::invokeMethod(this, &Composer::fit_height, Qt::QueuedConnection);
  return QWidget::eventFilter(object, event);
}

void Composer::paintEvent(QPaintEvent*) {
  const Tokens& t = context_.theme.tokens();
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const bool focused = field_->hasFocus();
  const qreal line = focused ? 1.6 : 1.0;
  painter.setPen(QPen(focused ? t.focus : t.strong, line));
  painter.setBrush(t.raised);
  const QRectF box = QRectF(rect()).adjusted(line / 2, line / 2, -line / 2, -line / 2);
  painter.drawRoundedRect(box, context_.theme.px(10), context_.theme.px(10));
}

}  // namespace lathe::ui
