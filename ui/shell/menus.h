// SPDX-License-Identifier: GPL-3.0-or-later
// Menus: the menu bar out of the registry of actions.
#pragma once

#include <QMenuBar>

#include "ui/actions/actions.h"

namespace lathe::ui {

/// Entries that nobody does are left out; a menu without entries too. `docks` go to View.
void fill_menu_bar(QMenuBar& bar, const Actions& actions, const QList<QAction*>& docks);

}  // namespace lathe::ui
