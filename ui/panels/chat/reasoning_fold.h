// SPDX-License-Identifier: GPL-3.0-or-later
// ReasoningFold: the reasoning of a reply above its answer, folded at first.
#pragma once

#include <QLabel>

#include "ui/theme/theme.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

class ReasoningFold : public Section {
  Q_OBJECT
 public:
  ReasoningFold(const Theme& theme, QWidget* parent);
  /// `running`: the reply is being written, and its answer has not begun.
  void set_reasoning(const QString& reasoning, bool running);
  QString reasoning() const { return text_->text(); }
  int height_for(int width) const;

 private:
  QLabel* text_;
};

}  // namespace lathe::ui
