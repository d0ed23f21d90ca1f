// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/bench/results/export_menu.h"

#include "ui/models/sweep_text.h"

namespace lathe::ui {

ExportMenu::ExportMenu(QWidget* parent) : QMenu(parent) {
  for (const app::ExportFormat* format : app::export_formats()) {
    connect(addAction(text_of(format->title) + QStringLiteral("…")), &QAction::triggered, this,
            [this, format] { Q_EMIT chosen(format); });
  }
}

}  // namespace lathe::ui
