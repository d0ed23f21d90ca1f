// SPDX-License-Identifier: GPL-3.0-or-later
// MessageTools: the small bar of buttons on a message under the pointer or with the focus.
#pragma once

#include <QWidget>

#include "ui/panels/chat/message_widget.h"

namespace lathe::ui {

class MessageTools : public QWidget {
  Q_OBJECT
 public:
  MessageTools(const Theme& theme, const std::string& role, QWidget* parent);
  QSize sizeHint() const override;

 Q_SIGNALS:
  void used(lathe::ui::MessageTool tool);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  const Theme& theme_;
  int n_buttons_ = 0;
};

}  // namespace lathe::ui
