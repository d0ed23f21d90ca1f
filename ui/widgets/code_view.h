// SPDX-License-Identifier: GPL-3.0-or-later
// CodeView: a block of code: its language, a Copy button, the coloured text; long lines scroll sideways.
#pragma once

#include <QLabel>
#include <QTextEdit>
#include <QWidget>

#include "ui/theme/theme.h"
#include "ui/widgets/code_highlighter.h"

namespace lathe::ui {

class CodeView : public QWidget {
  Q_OBJECT
 public:
  CodeView(const Theme& theme, const QString& language, QWidget* parent);
  void set_code(const QString& code);
  const QString& code() const { return code_; }
  int height_for(int width) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void apply_formats();

  const Theme& theme_;
  QString code_;
  QWidget* head_;
  QTextEdit* text_;
};

}  // namespace lathe::ui
