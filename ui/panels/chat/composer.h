// SPDX-License-Identifier: GPL-3.0-or-later
// Composer: the field for the next message: role, attached text, token count, Send or Stop.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "ui/panels/chat/draft_field.h"
#include "ui/panels/chat/draft_keeper.h"
#include "ui/panels/panel.h"
#include "ui/widgets/file_taker.h"
#include "ui/widgets/inline_message.h"

namespace lathe::ui {

/// Stop replaces Send while a reply is written. The draft and its role survive a restart. Text files that are dropped on the
/// composer are attached.
class Composer : public QWidget, public FileTaker {
  Q_OBJECT
 public:
  Composer(const PanelContext& context, QWidget* parent);

  QString text() const { return field_->toPlainText(); }
  void set_text(const QString& text);
  void clear() { set_text(QString()); }
  std::string role() const;
  void cycle_role();
  void set_running(bool running);
  /// Shows the token count of the draft; -1: not known.
  void set_token_count(qint64 tokens);
  void take_focus() { field_->setFocus(); }
  void refresh_state();
  QString take_files(const QStringList& files) override;
  bool leaves_models() const override { return true; }

 Q_SIGNALS:
  void send_asked();
  void insert_asked();
  void draft_changed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_row();
  bool handle_key(int key, Qt::KeyboardModifiers modifiers);
  void fit_height();
  void attach();
  void show_notice(const QString& what, const QString& numbers);
  void take_change();
  void change_chat();
  bool enter_sends() const;
  QString obstacle() const;

  const PanelContext& context_;
  DraftField* field_;
  DraftKeeper* keeper_;
  InlineMessage* notice_ = nullptr;  ///< the reason why text or a file was not taken, until the text changes
  QComboBox* role_;
  QLabel* mode_;    ///< "Complete", in place of the role
  QLabel* reason_;  ///< why the text cannot be sent
  QLabel* count_;
  QLabel* hint_;
  QPushButton* send_;
  QPushButton* stop_;
};

}  // namespace lathe::ui
