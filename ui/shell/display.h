// SPDX-License-Identifier: GPL-3.0-or-later
// Whether a window can be opened at all, asked before Qt would abort over it.
#pragma once

#include <string>

namespace lathe::ui {

/// Empty when a display answers; else what is missing, in one line.
std::string why_no_display();

}  // namespace lathe::ui
