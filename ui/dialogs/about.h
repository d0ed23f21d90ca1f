// SPDX-License-Identifier: GPL-3.0-or-later
// About: a dialog with version, licence and privacy.
#pragma once

#include <QWidget>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// Shows the dialog without blocking.
void show_about(const Theme& theme, QWidget* parent);

}  // namespace lathe::ui
