// SPDX-License-Identifier: GPL-3.0-or-later
// The style sheet of the program, resources/themes/lathe.qss, with its @names replaced by colours and @12 by scaled pixels.
#pragma once

#include <QString>

#include "ui/theme/tokens.h"

namespace lathe::ui {

QString filled_style_sheet(const Tokens& tokens, double scale);

}  // namespace lathe::ui
