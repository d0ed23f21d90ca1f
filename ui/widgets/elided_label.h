// SPDX-License-Identifier: GPL-3.0-or-later
// ElidedLabel: a line of text that ends in "…" if there is no space for all of it; its tool tip then shows the whole text.
#pragma once

#include "ui/widgets/controls.h"

namespace lathe::ui {

class ElidedLabel : public ToneLabel {
  Q_OBJECT
 public:
  ElidedLabel(const Theme& theme, const QString& name, QWidget* parent, double size = 13, int weight = QFont::Normal,
              TextTone tone = TextTone::text2);
  QString shown() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  bool event(QEvent* event) override;
};

}  // namespace lathe::ui
