// SPDX-License-Identifier: Apache-2.0
// Chat files: a conversation as Markdown, as OpenAI messages or in ShareGPT's form, and chats read from the last two.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/message_tree.h"
#include "engine/api/result.h"

namespace lathe::app {

struct ChatFileFormat {
  const char* name;    ///< "markdown"
  const char* suffix;  ///< ".md"
  /// Writes the messages of the path; other versions and deleted messages are left out.
  std::string (*write)(const std::string& title, const MessagePath& path);
};

/// THE TABLE: markdown, json, sharegpt.
std::span<const ChatFileFormat> chat_file_formats();
/// Null: there is no format of this name.
const ChatFileFormat* chat_file_format(std::string_view name);

struct ReadChat {
  std::string title;                    ///< empty: the file has none
  std::vector<StoredMessage> messages;  ///< each follows the one before it; at least one
};

/// Reads JSON or JSON lines: {"messages": [{"role", "content"}]} (OpenAI), {"conversations": [{"from", "value"}]}
/// (ShareGPT), lists of these, or a list of messages. Contents are texts, or lists of parts of type "text". Errors:
/// invalid_argument with the place in the file; too_large over kMaxChatFileBytes.
engine::Result<std::vector<ReadChat>> read_chats(std::string_view bytes);

inline constexpr std::size_t kMaxChatFileBytes = 64 << 20;

}  // namespace lathe::app
