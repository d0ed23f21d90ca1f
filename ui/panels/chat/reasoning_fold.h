// SPDX-License-Identifier: GPL-3.0-or-later
// ReasoningFold: the reasoning of a reply above its answer, initially folded.
#pragma once

#include <QLabel>

#include "ui/theme/theme.h"
#include "ui/widgets/render_pace.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

class ReasoningFold : public Section {
  Q_OBJECT
 public:
  ReasoningFold(const Theme& theme, QWidget* parent);
  /// `running`: the reply is being written, and its answer has not begun. Then an open fold shows new text at the pace of
  /// RenderPace.
  void set_reasoning(const QString& reasoning, bool running);
  const QString& reasoning() const { return reasoning_; }
  int height_for(int width) const;

 Q_SIGNALS:
  /// An open fold shows more text, and may need more height.
  void text_shown();

 private:
  void show_text();
  void count(QStringView more);

  QLabel* text_;
  RenderPace pace_;
  QString reasoning_;
  quint64 n_words_ = 0;
  bool in_word_ = false, running_ = false;
};

}  // namespace lathe::ui
