// SPDX-License-Identifier: GPL-3.0-or-later
// Fold memory: keeps sections folded or open as the user left them, across windows.
#pragma once

#include "ui/state/ui_state.h"
#include "ui/widgets/section.h"

namespace lathe::ui {

/// Opens or folds the section as `state` has it, and saves every change there. Requires: `state` outlives the section.
inline void remember_fold(Section& section, UiState& state) {
  const QString key = QStringLiteral("sections/") + section.objectName();
  section.set_open(state.get(key, section.is_open()).toBool());
  QObject::connect(&section, &Section::folded, &section, [&state, key](bool folded) { state.set(key, !folded); });
}

}  // namespace lathe::ui
