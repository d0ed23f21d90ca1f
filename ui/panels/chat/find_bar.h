// SPDX-License-Identifier: GPL-3.0-or-later
// FindBar: searches the messages of the open chat and goes from one hit to the next.
#pragma once

#include <QLabel>
#include <QLineEdit>
#include <QWidget>
#include <vector>

#include "ui/models/conversation.h"
#include "ui/theme/theme.h"

namespace lathe::ui {

class FindBar : public QWidget {
  Q_OBJECT
 public:
  FindBar(const Theme& theme, const Conversation& conversation, QWidget* parent);
  void open();
  void next();

 Q_SIGNALS:
  void found(qint64 message);

 protected:
  bool event(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void search();

  const Conversation& conversation_;
  QLineEdit* field_;
  QLabel* count_;
  std::vector<std::int64_t> hits_;
  std::int64_t last_ = 0;  ///< the message that was found last
};

}  // namespace lathe::ui
