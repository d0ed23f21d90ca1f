// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/deletions.h"

#include <QCoreApplication>

namespace lathe::ui {
namespace {

QString translated_deletion(const char* text, int n) { return QCoreApplication::translate("Deletions", text, nullptr, n); }

QString of_messages(std::size_t n, const char* one, const char* several) {
  return n == 1 ? translated_deletion(one, 1) : translated_deletion(several, static_cast<int>(n)).arg(n);
}

}  // namespace

MessageDeletion::MessageDeletion(Conversation& conversation, std::vector<std::int64_t> messages)
    : Deletion(of_messages(messages.size(), QT_TRANSLATE_NOOP("Deletions", "Delete message"),
                           QT_TRANSLATE_NOOP("Deletions", "Delete %1 messages")),
               of_messages(messages.size(), QT_TRANSLATE_NOOP("Deletions", "Message deleted"),
                           QT_TRANSLATE_NOOP("Deletions", "%1 messages deleted"))),
      conversation_(conversation),
      chat_(conversation.id()),
      messages_(std::move(messages)) {}

ChatDeletion::ChatDeletion(Conversation& conversation, ReplyWriter& writer, std::int64_t chat)
    : Deletion(translated_deletion(QT_TRANSLATE_NOOP("Deletions", "Delete chat"), 1),
               translated_deletion(QT_TRANSLATE_NOOP("Deletions", "Chat deleted"), 1)),
      conversation_(conversation),
      writer_(writer),
      chat_(chat) {}

bool ChatDeletion::mark(bool deleted) {
  if (deleted) {
    writer_.stop_and_keep(chat_);
    was_shown_ = conversation_.id() == chat_;
  }
  if (!conversation_.set_chat_deleted(chat_, deleted)) return false;
  const bool shows_nothing = conversation_.id() == 0 && conversation_.empty();
  if (!deleted && was_shown_ && shows_nothing) conversation_.open(chat_);
  return true;
}

}  // namespace lathe::ui
