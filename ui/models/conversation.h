// SPDX-License-Identifier: GPL-3.0-or-later
// Conversation: the chat that is shown: its tree of messages and the path through it, saved in the history at every change.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <functional>
#include <map>
#include <vector>

#include "app/api/history.h"
#include "app/api/message_tree.h"
#include "engine/api/chat.h"
#include "ui/bridge/background.h"

namespace lathe::ui {

/// A title from a chat's first question: its first line, cut at a word.
QString title_from(const QString& text);

/// Thread: GUI. Changes of the tree are written at once. Texts are written in the background; the text of a growing reply at
/// most twice a second. Replies can also grow in chats that are not shown.
class Conversation : public QObject {
  Q_OBJECT
 public:
  Conversation(app::History& history, Background& background, QObject* parent = nullptr);

  std::int64_t id() const { return id_; }  ///< 0: the chat is not in the history yet
  const QString& title() const { return title_; }
  /// The shown messages: the path through the tree.
  const app::MessagePath& messages() const { return tree_.path(); }
  bool empty() const { return messages().empty(); }
  /// True if the last message is not the model's: sending needs no further text.
  bool awaits_answer() const { return !empty() && messages().back().role != "assistant"; }
  int index_of(std::int64_t message) const { return tree_.index_of(message); }  ///< -1: it is not shown
  /// A message of the tree, shown or not; null: it is not in this chat.
  const app::StoredMessage* find(std::int64_t message) const { return tree_.find(message); }
  /// The message and its other versions, from the oldest.
  std::vector<std::int64_t> versions(std::int64_t message) const { return tree_.versions(message); }
  /// Id of the last shown message of the role; 0: none.
  std::int64_t last_of(const std::string& role) const;
  QString shown_text(const app::StoredMessage& message) const { return QString::fromStdString(message.text); }
  /// True if the message has neither text nor reasoning.
  bool is_blank(const app::StoredMessage& message) const;
  /// Messages for the chat template: the shown ones up to (not including) `end`; -1: all. Blank replies are left out.
  std::vector<engine::ChatMessage> turns(int end = -1) const;

  void start_new();
  /// Opens a chat of the history. Returns false if the history does not have it any more or cannot be read.
  bool open(std::int64_t id);
  void rename(const QString& title);

  /// The following calls return the id of the new message; 0 if it could not be saved (problem() says why).
  std::int64_t insert(const std::string& role, const QString& text);        ///< at the end
  std::int64_t insert_first(const std::string& role, const QString& text);  ///< before all others
  /// Adds a message below `parent`; what followed `parent` is another version of it.
  std::int64_t insert_after(std::int64_t parent, const std::string& role, const QString& text);
  /// Adds an empty version of a message and shows it.
  std::int64_t add_version(std::int64_t message);
  /// Adds a version with this text and shows it. A copy of what follows a system prompt follows its new version; nothing
  /// follows another message's. Returns `message` if it has this text.
  std::int64_t edit(std::int64_t message, const QString& text);
  void show_version(std::int64_t message, int version);

  /// Marks messages of any chat as deleted, or restores them. Returns false if the history refused.
  bool set_deleted(std::int64_t chat, const std::vector<std::int64_t>& messages, bool deleted);
  /// Marks a chat as deleted, or restores it; a deleted chat is not shown any more.
  bool set_chat_deleted(std::int64_t chat, bool deleted);

  /// Sets the text of a message while a reply grows. It is saved within half a second.
  void grow(std::int64_t chat, std::int64_t message, const QString& text);
  /// Sets the final text of a reply, with its footer. `partial`: the reply was cut off.
  void finish(std::int64_t chat, std::int64_t message, const QString& text, const std::string& footer_json, bool partial);
  /// Erases a message that nothing follows; another version is shown. Returns false if the history refused.
  bool discard(std::int64_t chat, std::int64_t message);
  /// Writes all pending texts and waits for it: before a chat is opened or the window closes.
  void flush();
  /// Makes a new chat of the shown messages up to and including `message`; branched() gives its id.
  void branch(std::int64_t message);

  /// The reason why the last write failed; empty: it succeeded.
  const QString& problem() const { return problem_; }

 Q_SIGNALS:
  void reset();                 ///< another chat is shown
  void path_changed(int from);  ///< the shown messages from this index on are others
  void changed(int index);      ///< a shown message has another text
  void title_changed();
  void list_changed();  ///< a chat was added, deleted or restored, or has another title
  void branched(qint64 chat);
  void problem_changed();

 private:
  struct Write {
    std::int64_t chat = 0;
    app::StoredMessage message;
  };
  bool create();
  void name_by(const std::string& role, const QString& text);
  std::int64_t added(const engine::Result<std::int64_t>& id, const std::function<void(std::int64_t)>& add);
  void change_tree(const std::function<void()>& change, bool all = false);
  void set_text(std::int64_t chat, app::StoredMessage message);
  void write_queued();
  void take_outcome(const engine::Result<void>& done);
  void report(const engine::Error& error) { set_problem(QString::fromStdString(error.message)); }
  void note_success();
  void set_problem(const QString& problem);

  app::History& history_;
  Background& background_;
  std::int64_t id_ = 0;
  QString title_, problem_;
  app::MessageTree tree_;
  std::map<std::int64_t, Write> unwritten_;  ///< texts that are not saved yet, by message
  /// texts that are being written; one write at a time, so that an older text never follows a newer one
  std::map<std::int64_t, Write> in_flight_;
  std::uint64_t write_number_ = 0;
  bool list_stale_ = false;  ///< list_changed() is to be emitted when the write is done
  QTimer* write_timer_;
};

}  // namespace lathe::ui
