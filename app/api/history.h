// SPDX-License-Identifier: Apache-2.0
// History: chats as trees of messages, in an SQLite database that survives a kill at any moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

/// A message of a chat's tree. Messages with the same parent are versions of each other; the one with the highest rank is
/// shown.
struct StoredMessage {
  std::int64_t id = 0;
  std::int64_t parent = 0;  ///< the message that it follows; 0: it begins the chat
  std::string role;
  std::string text;
  std::string footer_json;  ///< counts and timings of the generation; empty for typed text
  bool partial = false;     ///< the generation was stopped or cut off
  std::int64_t rank = 0;    ///< set by the history; all ranks of a chat differ, except those of a migrated database
  bool deleted = false;
};

struct ChatSummary {
  std::int64_t id = 0;
  std::string title;
  std::string folder;
  std::int64_t updated_unix_ms = 0;
  int n_messages = 0;  ///< in all versions
  bool pinned = false;
};

/// The database of chats. Thread: any; calls are serialised. Errors: not_found for a chat or message that does not exist;
/// else SQLite's message, with invalid_argument if the file is damaged, internal otherwise. open_history() renames a damaged
/// file to <file>.bad-<date>.
class History {
 public:
  virtual ~History() = default;
  /// Pinned chats first, then the newest. Deleted chats are left out.
  virtual std::vector<ChatSummary> chats() const = 0;
  virtual std::vector<ChatSummary> search(const std::string& words) const = 0;
  virtual engine::Result<std::int64_t> create_chat(const std::string& title) = 0;
  virtual engine::Result<void> rename_chat(std::int64_t chat, const std::string& title) = 0;
  virtual engine::Result<void> pin_chat(std::int64_t chat, bool pinned) = 0;
  /// Copies a chat with its whole tree and its draft. Returns the id of the copy.
  virtual engine::Result<std::int64_t> copy_chat(std::int64_t chat, const std::string& title) = 0;
  /// Marks a chat as deleted, or restores it. Opening the database erases marked chats.
  virtual engine::Result<void> delete_chat(std::int64_t chat, bool deleted = true) = 0;

  /// All messages of the tree by ascending id; parents can follow their children.
  virtual engine::Result<std::vector<StoredMessage>> messages(std::int64_t chat) const = 0;
  /// Adds a message below `message.parent`, where it is the shown version. Returns its id.
  virtual engine::Result<std::int64_t> add_message(std::int64_t chat, const StoredMessage& message) = 0;
  /// Adds messages, each below the one before it, the first below `parent`. Returns their ids.
  virtual engine::Result<std::vector<std::int64_t>> add_messages(std::int64_t chat, std::int64_t parent,
                                                                 const std::vector<StoredMessage>& chain) = 0;
  /// Adds a message before all others: those that began the chat follow it. Returns its id.
  virtual engine::Result<std::int64_t> insert_first(std::int64_t chat, const StoredMessage& message) = 0;
  /// Replaces text, footer and partial mark of `message.id`.
  virtual engine::Result<void> update_message(std::int64_t chat, const StoredMessage& message) = 0;
  /// Shows a message instead of its other versions. Returns its new rank.
  virtual engine::Result<std::int64_t> show_message(std::int64_t chat, std::int64_t message) = 0;
  /// Marks messages as deleted, or restores them, all or none. Opening the database erases marked messages.
  virtual engine::Result<void> delete_messages(std::int64_t chat, const std::vector<std::int64_t>& messages,
                                               bool deleted = true) = 0;
  /// Erases a message that nothing follows, without a way back. Errors: conflict if something follows it.
  virtual engine::Result<void> erase_message(std::int64_t chat, std::int64_t message) = 0;

  /// The text in the composer of a chat.
  virtual engine::Result<std::string> draft(std::int64_t chat) const = 0;
  virtual engine::Result<void> set_draft(std::int64_t chat, const std::string& text) = 0;

  virtual std::string problem() const = 0;  ///< what was wrong with the file; empty: nothing
};
/// Opens or creates a database; ":memory:" for tests.
engine::Result<std::unique_ptr<History>> open_history(const std::string& file);

}  // namespace lathe::app
