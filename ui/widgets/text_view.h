// SPDX-License-Identifier: GPL-3.0-or-later
// TextView: a read-only document as high as its text; its text can be selected and copied, and its links ask before they
// open.
#pragma once

#include <QTextEdit>

#include "ui/theme/theme.h"

namespace lathe::ui {

class TextView : public QTextEdit {
  Q_OBJECT
 public:
  TextView(const Theme& theme, QWidget* parent);
  /// Height of the document at this width.
  int height_for(int width);
  /// Shows a coloured block as a caret after the last letter while a reply is written.
  void set_caret(bool shown);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  /// Fetches nothing: an image that the document names is not loaded.
  QVariant loadResource(int type, const QUrl& name) override;

 private:
  void paint_quotes(const QRect& clip);
  void ask_to_open(const QString& link);

  const Theme& theme_;
  bool caret_ = false;
};

}  // namespace lathe::ui
