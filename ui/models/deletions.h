// SPDX-License-Identifier: GPL-3.0-or-later
// Deletions: commands of the undo stack that mark messages and chats as deleted, and restore them.
#pragma once

#include <QUndoCommand>
#include <vector>

#include "ui/models/conversation.h"
#include "ui/models/reply_writer.h"

namespace lathe::ui {

/// A deletion that the history refused is obsolete: the stack drops it.
class Deletion : public QUndoCommand {
 public:
  /// `text`: "Delete message", for the Edit menu; `done`: "Message deleted", for the line that offers Undo.
  Deletion(const QString& text, QString done) : QUndoCommand(text), done_(std::move(done)) {}
  const QString& done() const { return done_; }
  void redo() override { set(true); }
  void undo() override { set(false); }

 protected:
  virtual bool mark(bool deleted) = 0;

 private:
  void set(bool deleted) {
    if (!mark(deleted)) setObsolete(true);
  }
  QString done_;
};

class MessageDeletion final : public Deletion {
 public:
  /// Messages of the shown chat.
  MessageDeletion(Conversation& conversation, std::vector<std::int64_t> messages);

 protected:
  bool mark(bool deleted) override { return conversation_.set_deleted(chat_, messages_, deleted); }

 private:
  Conversation& conversation_;
  const std::int64_t chat_;
  const std::vector<std::int64_t> messages_;
};

/// Stops the reply of the chat first. A chat that was shown is shown again when it is restored, unless another is.
class ChatDeletion final : public Deletion {
 public:
  ChatDeletion(Conversation& conversation, ReplyWriter& writer, std::int64_t chat);

 protected:
  bool mark(bool deleted) override;

 private:
  Conversation& conversation_;
  ReplyWriter& writer_;
  const std::int64_t chat_;
  bool was_shown_ = false;
};

}  // namespace lathe::ui
