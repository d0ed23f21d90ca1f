// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/shell/writing_menu.h"

#include <QMenu>
#include <vector>

namespace lathe::ui {
namespace {

std::vector<app::ChatSummary> chats_with_replies(const PanelContext& context) {
  std::vector<app::ChatSummary> chats = context.workbench.history().chats();
  std::erase_if(chats, [&context](const app::ChatSummary& chat) { return !context.writer.running(chat.id); });
  return chats;
}

void open_writing_menu(StatusBar& status, const PanelContext& context) {
  auto* menu = new QMenu(&status);
  menu->setObjectName(QStringLiteral("status.writing"));
  menu->setAttribute(Qt::WA_DeleteOnClose);
  Navigator* const navigator = &context.navigator;
  for (const app::ChatSummary& chat : chats_with_replies(context))
    QObject::connect(menu->addAction(QString::fromStdString(chat.title)), &QAction::triggered, navigator,
                     [navigator, id = chat.id] { Q_EMIT navigator->open_chat(id); });
  menu->popup(status.mapToGlobal(QPoint(0, -menu->sizeHint().height())));
}

}  // namespace

void name_writing(StatusBar& status, const PanelContext& context) {
  QObject::connect(&context.writer, &ReplyWriter::chats_changed, &status, [&status, &context] {
    QStringList titles;
    for (const app::ChatSummary& chat : chats_with_replies(context)) titles << QString::fromStdString(chat.title);
    status.set_writing(titles);
  });
  QObject::connect(&status, &StatusBar::writing_wanted, &status,
                   [&status, &context] { open_writing_menu(status, context); });
}

}  // namespace lathe::ui
