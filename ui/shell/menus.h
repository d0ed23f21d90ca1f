// SPDX-License-Identifier: GPL-3.0-or-later
// Menus: the menu bar, made of the registry of actions.
#pragma once

#include <QMenuBar>

#include "ui/actions/actions.h"

namespace lathe::ui {

/// Leaves out actions that nothing handles, and menus without entries. `docks` go to View.
void fill_menu_bar(QMenuBar& bar, const Actions& actions, const QList<QAction*>& docks);

}  // namespace lathe::ui
