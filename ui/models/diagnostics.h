// SPDX-License-Identifier: GPL-3.0-or-later
// Diagnostics: what a bug report needs, as text to paste: versions, machine, model, changed settings, the end of the log.
#pragma once

#include <QString>

#include "ui/bridge/bridge.h"

namespace lathe::ui {

/// Thread: GUI. Holds no API key and nothing of the chats.
QString diagnostics(app::Workbench& workbench, const Bridge& bridge);

}  // namespace lathe::ui
