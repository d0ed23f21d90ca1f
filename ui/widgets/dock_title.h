// SPDX-License-Identifier: GPL-3.0-or-later
// DockTitle: the title bar of a dock: its name, the tools of its panel, float and close.
#pragma once

#include <QDockWidget>
#include <QHBoxLayout>
#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// While the dock is tabbed its tab is the title, so the title bar has height zero.
class DockTitle : public QWidget {
  Q_OBJECT
 public:
  /// `tools` may be null; it is shown at the right, before float and close.
  DockTitle(const Theme& theme, QDockWidget* dock, QWidget* tools);
  /// Takes the tools back when the dock is no longer tabbed; while it is tabbed, the caller places the tools.
  void set_tabbed(bool tabbed);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 Q_SIGNALS:
  void maximise_asked();  ///< emitted at a double click

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;

 private:
  const Theme& theme_;
  QHBoxLayout* row_;
  QWidget* tools_;
  bool tabbed_ = false;
};

}  // namespace lathe::ui
