// SPDX-License-Identifier: GPL-3.0-or-later
// Conversation: the open chat: its messages with all their versions, kept in the history at every change.
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

/// Thread: GUI. A message that comes or goes is written at once. Its texts are written in the background, those of a reply
/// that grows at most twice a second.
class Conversation : public QObject {
  Q_OBJECT
 public:
  Conversation(app::History& history, Background& background, QObject* parent = nullptr);

  std::int64_t id() const { return id_; }  ///< 0: nothing is kept yet
  const QString& title() const { return title_; }
  const std::vector<app::StoredMessage>& messages() const { return messages_; }
  bool empty() const { return messages_.empty(); }
  /// Its last message is not the model's: sending needs no further text.
  bool awaits_answer() const { return !messages_.empty() && messages_.back().role != "assistant"; }
  int index_of(std::int64_t message) const;  ///< -1: not here
  const app::StoredMessage* find(std::int64_t message) const;
  /// The last message of the role; 0 when there is none.
  std::int64_t last_of(const std::string& role) const;
  QString shown_text(const app::StoredMessage& message) const;
  /// True if the shown version has neither text nor reasoning.
  bool is_blank(const app::StoredMessage& message) const;
  /// What the template gets: the shown versions up to (not including) `end`; -1: all. Blank replies are left out.
  std::vector<engine::ChatMessage> turns(int end = -1) const;

  void start_new();
  /// False when it is not in the history any more.
  bool open(std::int64_t id);
  void rename(const QString& title);

  /// The new message's id; 0 when it could not be kept (problem() says why). `index` -1: at the end.
  std::int64_t insert(const std::string& role, const QString& text, int index = -1);
  void edit(std::int64_t message, const QString& text);
  void remove(std::int64_t message);
  void show_version(std::int64_t message, int version);
  /// An empty version behind the others, shown.
  void add_version(std::int64_t message);
  /// Takes the shown version away again when it is empty and not the only one; `shown` is shown then.
  void drop_empty_version(std::int64_t message, int shown);
  /// Text of the shown version while a reply grows. Kept within half a second.
  void grow(std::int64_t message, const QString& text);
  /// The reply has ended.
  void finish(std::int64_t message, const QString& text, const std::string& footer_json, bool partial);
  /// Writes what is pending, waiting for it: another chat is opened, or the window closes.
  void flush();
  /// A new chat with the messages up to and including `message`; branched() tells its id.
  void branch(std::int64_t message);

  /// Why the last write failed; empty: it did not.
  const QString& problem() const { return problem_; }

 Q_SIGNALS:
  void reset();  ///< another chat
  void inserted(int index);
  void removed(int index);
  void changed(int index);
  void title_changed();
  void list_changed();  ///< a chat came, went or has another title
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
  std::set<std::int64_t> unwritten_;  ///< messages with texts that are not kept yet
  std::set<std::int64_t> in_flight_;  ///< one write at a time: an older text must not come after a newer one
  std::uint64_t write_number_ = 0;
  bool list_stale_ = false;  ///< the list of chats is told when the write is done
  QTimer* write_timer_;
};

}  // namespace lathe::ui
