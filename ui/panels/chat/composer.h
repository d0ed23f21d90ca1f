// SPDX-License-Identifier: GPL-3.0-or-later
// Composer: the field for the next message: role, attached text, token count, Send or Stop.
#pragma once

#include <QComboBox>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QWidget>

#include "ui/panels/panel.h"

namespace lathe::ui {

/// Stop stands where Send stood. The draft and its role survive a restart.
class Composer : public QWidget {
  Q_OBJECT
 public:
  Composer(const PanelContext& context, QWidget* parent);

  QString text() const { return field_->toPlainText(); }
  void set_text(const QString& text);
  void clear() { set_text(QString()); }
  std::string role() const;
  void cycle_role();
  void set_running(bool running);
  /// -1: not known.
  void set_token_count(qint64 tokens);
  void take_focus() { field_->setFocus(); }
  void refresh_state();

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
  bool enter_sends() const;

  const PanelContext& context_;
  QPlainTextEdit* field_;
  QComboBox* role_;
  QLabel* count_;
  QLabel* hint_;
  QPushButton* send_;
  QPushButton* stop_;
};

}  // namespace lathe::ui
