// SPDX-License-Identifier: GPL-3.0-or-later
// Diagnostics: the facts that a bug report needs, as text to paste: versions, machine, model, changed settings, the end of
// the log.
#pragma once

#include <QString>

#include "ui/bridge/bridge.h"

namespace lathe::ui {

/// Thread: GUI. The text contains no API key and nothing from the chats.
QString diagnostics(app::Workbench& workbench, const Bridge& bridge);

}  // namespace lathe::ui
