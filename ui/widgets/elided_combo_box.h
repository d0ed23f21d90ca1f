// SPDX-License-Identifier: GPL-3.0-or-later
// ElidedComboBox: a combo box whose text ends in "…" if there is no space for all of it; its tool tip then shows the whole
// text.
#pragma once

#include <QComboBox>

namespace lathe::ui {

class ElidedComboBox : public QComboBox {
  Q_OBJECT
 public:
  explicit ElidedComboBox(QWidget* parent = nullptr);
  /// Returns the text as drawn. An editable box scrolls its text and is drawn as any other.
  QString shown() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace lathe::ui
