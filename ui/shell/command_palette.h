// SPDX-License-Identifier: GPL-3.0-or-later
// CommandPalette: a field and a list over the window that finds any action of the registry.
#pragma once

#include <QFrame>
#include <QLineEdit>
#include <QListWidget>

#include "ui/actions/actions.h"

namespace lathe::ui {

/// How well `words` match `text`: higher is better, 0 not at all. Every word must begin a word of the text or occur in it.
int palette_score(const QString& words, const QString& text);

class CommandPalette : public QFrame {
  Q_OBJECT
 public:
  CommandPalette(const Theme& theme, Actions& actions, QWidget* window);
  void open();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  void fill();
  void run_current();

  const Theme& theme_;
  Actions& actions_;
  QLineEdit* field_;
  QListWidget* list_;
};

}  // namespace lathe::ui
