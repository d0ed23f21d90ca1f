// SPDX-License-Identifier: GPL-3.0-or-later
// Display: tells whether a window can be opened, before Qt would abort because none can.
#pragma once

#include <string>

namespace lathe::ui {

/// Empty if a display answers; else the missing thing, in one line.
std::string why_no_display();

}  // namespace lathe::ui
