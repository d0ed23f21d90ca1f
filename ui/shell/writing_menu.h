// SPDX-License-Identifier: GPL-3.0-or-later
// Writing menu: the chats that replies are written into, at the status bar's state.
#pragma once

#include "ui/panels/panel.h"
#include "ui/shell/status_bar.h"

namespace lathe::ui {

/// Names these chats in `status` from now on, and lets one be chosen there.
void name_writing(StatusBar& status, const PanelContext& context);

}  // namespace lathe::ui
