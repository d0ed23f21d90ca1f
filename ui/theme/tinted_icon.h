// SPDX-License-Identifier: GPL-3.0-or-later
// Icons of one family: an SVG with one stroke colour that gets its colour from the theme when it is painted.
#pragma once

#include <QIcon>

#include "ui/theme/theme.h"

namespace lathe::ui {

/// `name` is a file of resources/icons without its ending. Requires: `theme` outlives the icon.
QIcon make_tinted_icon(const Theme& theme, const QString& name, IconTone tone);

}  // namespace lathe::ui
