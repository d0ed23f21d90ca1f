// SPDX-License-Identifier: GPL-3.0-or-later
// Shortcuts: a dialog that lists every action of the registry with its keys.
#pragma once

#include <QWidget>

#include "ui/actions/actions.h"

namespace lathe::ui {

/// Shows the dialog without blocking.
void show_shortcuts(const Theme& theme, const Actions& actions, QWidget* parent);

}  // namespace lathe::ui
