// SPDX-License-Identifier: GPL-3.0-or-later
// MessageWidget: one message of the transcript: role, versions, tools, body, footer; or an editor while it is edited.
#pragma once

#include <QLabel>
#include <QPlainTextEdit>
#include <QWidget>

#include "ui/models/conversation.h"
#include "ui/models/reply_writer.h"
#include "ui/panels/chat/message_footer.h"
#include "ui/panels/chat/reasoning_fold.h"
#include "ui/panels/panel.h"
#include "ui/widgets/inline_message.h"
#include "ui/widgets/markdown_view.h"

namespace lathe::ui {

enum class MessageTool { copy, edit, regenerate, continue_reply, branch, remove, inspect, previous, next };

class MessageWidget : public QWidget {
  Q_OBJECT
 public:
  MessageWidget(const PanelContext& context, std::int64_t message, QWidget* parent);

  std::int64_t message() const { return message_; }
  /// Shows the message as the conversation has it.
  void refresh();
  void append(const QString& delta);
  void refresh_live();
  bool is_editing() const { return editor_ != nullptr; }
  void start_editing();
  void set_formatted(bool formatted) { body_->set_formatted(formatted); }
  int height_for(int width);
  QString shown_text() const { return body_->shown_text(); }
  QString footer_text() const { return footer_->words(); }
  QString reasoning() const {
    return reasoning_ != nullptr && !reasoning_->isHidden() ? reasoning_->reasoning() : QString();
  }

  /// The message and what Tab reaches in it, in the order in which they are shown.
  QWidgetList focus_parts();

 Q_SIGNALS:
  void height_changed();
  void parts_changed();  ///< focus_parts() has others
  void tool_used(qint64 message, lathe::ui::MessageTool tool);
  void edited(qint64 message, const QString& text, bool and_send);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void enterEvent(QEnterEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_versions();
  void refresh_versions();
  void make_tools();
  void show_tools(bool shown);
  void hide_tools_later();
  void refresh_error(const app::StoredMessage& version);
  void refresh_reasoning(const QString& reasoning);
  void show_interrupted(const app::StoredMessage& version);
  void end_editing();
  void finish_editing(bool and_send);
  bool is_user() const { return role_ == "user"; }
  bool is_running() const { return context_.writer.message() == message_; }
  QRect inner() const;
  void place();

  const PanelContext& context_;
  const std::int64_t message_;
  std::string role_;
  MarkdownView* body_;
  MessageFooter* footer_;
  QWidget* versions_ = nullptr;
  QLabel* version_word_ = nullptr;
  QWidget* tools_ = nullptr;
  InlineMessage* error_ = nullptr;
  ReasoningFold* reasoning_ = nullptr;
  QPlainTextEdit* editor_ = nullptr;
  QWidget* editor_row_ = nullptr;
};

/// The meaning of a key in a field that edits a message: Esc leaves it, Ctrl+Enter saves it.
enum class EditorKey { other, leave, save };
/// The meaning of a ShortcutOverride or KeyPress event; other events are `other`.
EditorKey editor_key_of(const QEvent& event);

/// "User", "Assistant", "System", "Tool".
QString role_word(const std::string& role);
QColor role_color(const Tokens& tokens, const std::string& role);
/// Paints the bar and the word of a message's role; `x` is the left edge.
void paint_role(QPainter& painter, const Theme& theme, const std::string& role, int x, const QRect& row);

}  // namespace lathe::ui
