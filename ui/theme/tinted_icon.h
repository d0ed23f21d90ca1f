// SPDX-License-Identifier: GPL-3.0-or-later
// Tinted icon: an SVG with one stroke colour, which is replaced by a colour of the theme when the icon is painted.
#pragma once

#include <QIcon>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// `name` is a file of resources/icons without its ending. Requires: `theme` outlives the icon.
QIcon make_tinted_icon(const Theme& theme, const QString& name, IconTone tone);

}  // namespace lathe::ui
