// SPDX-License-Identifier: Apache-2.0
// History: chats with all versions of each message, in an SQLite database that survives a kill at any moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/api/result.h"

namespace lathe::app {

struct MessageVersion {
  std::string text;
  std::string footer_json;  ///< counts and timings of the generation; empty for typed text
  bool partial = false;     ///< the generation was stopped or cut off
};

struct StoredMessage {
  std::int64_t id = 0;
  std::string role;
  std::vector<MessageVersion> versions;  ///< at least one
  int current = 0;                       ///< index of the version that is shown
};

struct ChatSummary {
  std::int64_t id = 0;
  std::string title;
  std::string folder;
  std::int64_t updated_unix_ms = 0;
  int n_messages = 0;
};

/// The database of chats. Thread: any; calls are serialised. Errors: not_found for a chat or message that does not exist;
/// else SQLite's message, with invalid_argument if the file is damaged, internal otherwise. open_history() renames a damaged
/// file to <file>.bad-<date>.
class History {
 public:
  virtual ~History() = default;
  virtual std::vector<ChatSummary> chats() const = 0;  ///< newest first
  virtual std::vector<ChatSummary> search(const std::string& words) const = 0;
  virtual engine::Result<std::int64_t> create_chat(const std::string& title) = 0;
  virtual engine::Result<void> rename_chat(std::int64_t chat, const std::string& title) = 0;
  virtual engine::Result<void> delete_chat(std::int64_t chat) = 0;
  virtual engine::Result<std::vector<StoredMessage>> messages(std::int64_t chat) const = 0;
  /// Inserts after message `after` (0: at the front; -1: at the end). Returns the new message's id.
  virtual engine::Result<std::int64_t> add_message(std::int64_t chat, const StoredMessage& message, std::int64_t after) = 0;
  /// Errors of update_message and delete_message: not_found when the chat has no such message.
  virtual engine::Result<void> update_message(std::int64_t chat, const StoredMessage& message) = 0;
  virtual engine::Result<void> delete_message(std::int64_t chat, std::int64_t message) = 0;
  virtual std::string problem() const = 0;  ///< what was wrong with the file; empty: nothing
};
/// Opens or creates a database; ":memory:" for tests.
engine::Result<std::unique_ptr<History>> open_history(const std::string& file);

}  // namespace lathe::app
