// SPDX-License-Identifier: GPL-3.0-or-later
// SystemCard: the system prompt, pinned over the transcript: one line, or an editor when it is opened.
#pragma once

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QToolButton>
#include <QWidget>

#include "ui/panels/panel.h"

namespace lathe::ui {

class SystemCard : public QWidget {
  Q_OBJECT
 public:
  SystemCard(const PanelContext& context, QWidget* parent);
  /// The id of the shown message; 0: the chat has no system prompt, and the card is hidden.
  std::int64_t message() const;
  void set_open(bool open);
  void set_token_count(qint64 tokens);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void make_versions(QHBoxLayout* head);
  void step_version(int step);
  void remove_prompt();
  int shown_version() const;
  void refresh();
  void keep();

  const PanelContext& context_;
  QToolButton* fold_;
  QPlainTextEdit* editor_;
  QWidget* row_;
  QWidget* versions_ = nullptr;
  QLabel* version_word_ = nullptr;
  QString line_, count_;
  bool open_ = false;
};

}  // namespace lathe::ui
