// SPDX-License-Identifier: GPL-3.0-or-later
// Window place: where the main window is on the screens, kept from start to start.
#pragma once

#include <QMainWindow>

#include "ui/state/ui_state.h"

namespace lathe::ui {

/// Puts the window where it was kept, or in the middle of the primary screen, maximised if `designed` is larger than that.
/// Returns false at the first start.
bool restore_place(QMainWindow& window, const UiState& state, const QSize& designed);

void keep_place(const QMainWindow& window, UiState& state);

/// Returns whether the screens are those on which the window was kept.
bool has_same_screens(const UiState& state);

/// Moves the window and its floating docks onto the screens: their screen may be gone or smaller.
void bring_onto_screens(QMainWindow& window, bool same_screens);

}  // namespace lathe::ui
