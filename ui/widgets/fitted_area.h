// SPDX-License-Identifier: GPL-3.0-or-later
// FittedArea: holds a widget that fills it, and that scrolls only where the area is smaller than the widget's minimum.
#pragma once

#include <QScrollArea>

namespace lathe::ui {

/// QScrollArea itself takes the preferred height of a widget with wrapped text for its minimum.
class FittedArea : public QScrollArea {
  Q_OBJECT
 public:
  /// Takes `contents` over.
  FittedArea(QWidget* contents, QWidget* parent);
};

}  // namespace lathe::ui
