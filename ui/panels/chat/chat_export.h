// SPDX-License-Identifier: GPL-3.0-or-later
// Chat export: a conversation as Markdown or as OpenAI messages.
#pragma once

#include <QWidget>

#include "ui/models/conversation.h"

namespace lathe::ui {

QByteArray chat_as_markdown(const Conversation& conversation);
/// The chat as {"messages": [{"role", "content"}, ...]}.
QByteArray chat_as_json(const Conversation& conversation);
/// Asks for a file and writes the chat to it; a failure is shown.
void save_chat(QWidget* parent, const Conversation& conversation, bool markdown);

}  // namespace lathe::ui
