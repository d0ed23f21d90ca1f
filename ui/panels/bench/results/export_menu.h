// SPDX-License-Identifier: GPL-3.0-or-later
// ExportMenu: the formats in which a sweep is exported.
#pragma once

#include <QMenu>

#include "app/api/sweep_export.h"

namespace lathe::ui {

class ExportMenu : public QMenu {
  Q_OBJECT
 public:
  explicit ExportMenu(QWidget* parent);

 Q_SIGNALS:
  void chosen(const app::ExportFormat* format);  ///< one of export_formats()
};

}  // namespace lathe::ui
