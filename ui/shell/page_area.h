// SPDX-License-Identifier: GPL-3.0-or-later
// PageArea: the pages of the window, of which one is shown. A page that is larger than its place scrolls, since Qt would let
// it cover the docks.
#pragma once

#include <QStackedWidget>
#include <vector>

#include "ui/panels/panel.h"

namespace lathe::ui {

class PageArea : public QStackedWidget {
  Q_OBJECT
 public:
  PageArea(const Theme& theme, QWidget* parent);
  void add(ui::Panel* page);  // QFrame has a Panel of its own
  ui::Panel* page(int index) const;
  ui::Panel* current_page() const;  ///< null while there is no page
  /// The least place that the docks leave to a page.
  QSize minimumSizeHint() const override;

 private:
  const Theme& theme_;
  std::vector<ui::Panel*> pages_;
};

}  // namespace lathe::ui
