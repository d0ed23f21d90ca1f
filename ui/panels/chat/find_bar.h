// SPDX-License-Identifier: GPL-3.0-or-later
// FindBar: searches the shown messages and goes from one hit to the next; the focus stays in its field.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QWidget>
#include <vector>

#include "ui/models/conversation.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

/// Typing goes to the first hit from the current one on. Return, F3 and the arrow go to the next, with Shift to the
/// previous.
class FindBar : public QWidget {
  Q_OBJECT
 public:
  FindBar(const Theme& theme, const Conversation& conversation, QWidget* parent);
  void open();
  /// Goes `step` hits on, around the ends; opens the bar if it is closed.
  void go(int step);

 Q_SIGNALS:
  void found(qint64 message);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search();
  void take_text();
  void show_hit(std::size_t hit);
  void refresh_count();

  const Conversation& conversation_;
  QLineEdit* field_;
  QLabel* count_;
  std::vector<std::int64_t> hits_;
  std::int64_t last_ = 0;  ///< the message that was found last
};

}  // namespace lathe::ui
