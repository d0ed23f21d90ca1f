// SPDX-License-Identifier: GPL-3.0-or-later
// Conversation: the open chat: its messages with all their versions, saved in the history at every change.
#pragma once

#include <QObject>
#include <QString>
#include <QTimer>
#include <optional>
#include <set>
#include <vector>

#include "app/api/history.h"
#include "engine/api/chat.h"
#include "ui/bridge/background.h"

namespace lathe::ui {

/// Thread: GUI. Inserting and removing a message is written at once. Texts are written in the background; the text of a
/// growing reply at most twice a second.
class Conversation : public QObject {
  Q_OBJECT
 public:
  Conversation(app::History& history, Background& background, QObject* parent = nullptr);

  std::int64_t id() const { return id_; }  ///< 0: the chat is not in the history yet
  const QString& title() const { return title_; }
  const std::vector<app::StoredMessage>& messages() const { return messages_; }
  bool empty() const { return messages_.empty(); }
  /// True if the last message is not the model's: sending needs no further text.
  bool awaits_answer() const { return !messages_.empty() && messages_.back().role != "assistant"; }
  int index_of(std::int64_t message) const;  ///< -1: not in this chat
  const app::StoredMessage* find(std::int64_t message) const;
  /// Id of the last message of the role; 0: none.
  std::int64_t last_of(const std::string& role) const;
  QString shown_text(const app::StoredMessage& message) const;
  /// True if the shown version has neither text nor reasoning.
  bool is_blank(const app::StoredMessage& message) const;
  /// Messages for the chat template: the shown versions up to (not including) `end`; -1: all. Blank replies are left out.
  std::vector<engine::ChatMessage> turns(int end = -1) const;

  void start_new();
  /// Opens a chat of the history. Returns false if the history does not have it any more or cannot be read.
  bool open(std::int64_t id);
  void rename(const QString& title);

  /// Inserts a message before `index`; -1: at the end. Returns its id; 0 if it could not be saved (problem() says why).
  std::int64_t insert(const std::string& role, const QString& text, int index = -1);
  void edit(std::int64_t message, const QString& text);
  void remove(std::int64_t message);
  void show_version(std::int64_t message, int version);
  /// Adds an empty version after the others and shows it.
  void add_version(std::int64_t message);
  /// Removes the shown version if it is empty and not the only one, and shows version `shown` instead.
  void drop_empty_version(std::int64_t message, int shown);
  /// Sets the text of the shown version while a reply grows. It is saved within half a second.
  void grow(std::int64_t message, const QString& text);
  /// Sets the final text of a reply, with its footer. `partial`: the reply was cut off.
  void finish(std::int64_t message, const QString& text, const std::string& footer_json, bool partial);
  /// Writes all pending texts and waits for it: before another chat is opened or the window closes.
  void flush();
  /// Makes a new chat of the messages up to and including `message`; branched() gives its id.
  void branch(std::int64_t message);

  /// The reason why the last write failed; empty: it succeeded.
  const QString& problem() const { return problem_; }

 Q_SIGNALS:
  void reset();  ///< another chat is open
  void inserted(int index);
  void removed(int index);
  void changed(int index);
  void title_changed();
  void list_changed();  ///< a chat was added or removed, or has another title
  void branched(qint64 chat);
  void problem_changed();

 private:
  bool create();
  void queue_write(std::int64_t message);
  void write_queued();
  void take_outcome(const engine::Result<void>& done);
  void report(const engine::Error& error) { set_problem(QString::fromStdString(error.message)); }
  void note_success();
  void set_problem(const QString& problem);

  app::History& history_;
  Background& background_;
  std::int64_t id_ = 0;
  QString title_, problem_;
  std::vector<app::StoredMessage> messages_;
  std::set<std::int64_t> unwritten_;  ///< messages with texts that are not saved yet
  /// messages that are being written; one write at a time, so that an older text never follows a newer one
  std::set<std::int64_t> in_flight_;
  std::uint64_t write_number_ = 0;
  bool list_stale_ = false;  ///< list_changed() is to be emitted when the write is done
  QTimer* write_timer_;
};

}  // namespace lathe::ui
