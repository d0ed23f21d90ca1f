// SPDX-License-Identifier: GPL-3.0-or-later
// Chat export and import: the shown conversation to a file, and chats from files to the history.
#pragma once

#include <QWidget>

#include "app/api/chat_files.h"
#include "ui/panels/panel.h"

namespace lathe::ui {

/// Asks for a file and writes the shown messages to it; a failure is shown.
void save_chat(QWidget* parent, const PanelContext& context, const app::ChatFileFormat& format);
/// Asks for files and adds their chats to the history; the last one is opened. A failure is shown.
void import_chats(QWidget* parent, const PanelContext& context);

}  // namespace lathe::ui
