// SPDX-License-Identifier: Apache-2.0
#include "app/api/chat_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/api/json.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;

struct RoleName {
  const char* role;      ///< as it is stored, and OpenAI's
  const char* sharegpt;  ///< "from"
  const char* heading;
};
constexpr std::array kChatRoles = {RoleName{"user", "human", "User"}, RoleName{"assistant", "gpt", "Assistant"},
                                   RoleName{"system", "system", "System"}, RoleName{"tool", "tool", "Tool"}};

const RoleName& role_name(const std::string& role) {
  const auto found =
      std::find_if(kChatRoles.begin(), kChatRoles.end(), [&](const RoleName& name) { return role == name.role; });
  return found == kChatRoles.end() ? kChatRoles.back() : *found;
}

std::string write_markdown(const std::string& title, const MessagePath& path) {
  std::string text = "# " + title + "\n";
  for (const StoredMessage& message : path)
    text += fmt::format("\n## {}\n\n{}\n", role_name(message.role).heading, message.text);
  return text;
}

std::string write_json(const std::string& title, const MessagePath& path) {
  OrderedJson messages = OrderedJson::array();
  for (const StoredMessage& message : path)
    messages.push_back(OrderedJson{{"role", message.role}, {"content", message.text}});
  return engine::dump_json(OrderedJson{{"title", title}, {"messages", messages}}, 2) + '\n';
}

std::string write_sharegpt(const std::string& title, const MessagePath& path) {
  OrderedJson turns = OrderedJson::array();
  for (const StoredMessage& message : path)
    turns.push_back(OrderedJson{{"from", role_name(message.role).sharegpt}, {"value", message.text}});
  return engine::dump_json(OrderedJson::array({OrderedJson{{"title", title}, {"conversations", turns}}}), 2) + '\n';
}

constexpr std::array kChatFormats = {ChatFileFormat{"markdown", ".md", write_markdown},
                                     ChatFileFormat{"json", ".json", write_json},
                                     ChatFileFormat{"sharegpt", ".sharegpt.json", write_sharegpt}};

tl::unexpected<engine::Error> bad_chat_file(const std::string& where, std::string why) {
  return engine::fail(ErrorCode::invalid_argument, fmt::format("{}: {}", where, why), where);
}

/// Other names that programs give to a role.
Result<std::string> chat_role_of(const std::string& word, const std::string& where) {
  if (word == "developer") return std::string("system");
  if (word == "chatgpt" || word == "model") return std::string("assistant");
  for (const RoleName& name : kChatRoles)
    if (word == name.role || word == name.sharegpt) return std::string(name.role);
  return bad_chat_file(
      where, fmt::format("the role '{}' is unknown; user, assistant, system and tool are known", word.substr(0, 40)));
}

Result<std::string> chat_text_in(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) return bad_chat_file(where, "it is neither a text nor a list of parts");
  std::string text;
  for (const Json& part : content) {
    const bool is_text = part.is_object() && part.contains("text") && part["text"].is_string();
    if (!is_text) return bad_chat_file(where, "it has a part that is not text; only texts can be imported");
    text += part["text"].get<std::string>();
  }
  return text;
}

Result<StoredMessage> chat_message_in(const Json& json, const char* role_key, const char* text_key,
                                      const std::string& where) {
  if (!json.is_object()) return bad_chat_file(where, "it is not an object");
  const auto role = json.find(role_key), text = json.find(text_key);
  if (role == json.end() || !role->is_string()) return bad_chat_file(where, fmt::format("\"{}\" is missing", role_key));
  if (text == json.end()) return bad_chat_file(where, fmt::format("\"{}\" is missing", text_key));
  LATHE_TRY(const std::string name, chat_role_of(role->get<std::string>(), where + "." + role_key));
  LATHE_TRY(const std::string words, chat_text_in(*text, where + "." + text_key));
  return new_message(name, words, 0);
}

Result<std::vector<StoredMessage>> chat_messages_in(const Json& list, bool is_sharegpt, const std::string& where) {
  if (!list.is_array() || list.empty()) return bad_chat_file(where, "it is not a list of messages");
  std::vector<StoredMessage> messages;
  for (const Json& item : list) {
    const std::string at = fmt::format("{}[{}]", where, messages.size());
    LATHE_TRY(StoredMessage message,
              is_sharegpt ? chat_message_in(item, "from", "value", at) : chat_message_in(item, "role", "content", at));
    messages.push_back(std::move(message));
  }
  return messages;
}

Result<ReadChat> read_chat(const Json& json, const std::string& where) {
  ReadChat chat;
  if (!json.is_object()) return bad_chat_file(where, "it is not a chat");
  for (const char* key : {"title", "name"})
    if (const auto title = json.find(key); title != json.end() && title->is_string()) chat.title = title->get<std::string>();
  const bool is_sharegpt = json.contains("conversations");
  const char* key = is_sharegpt ? "conversations" : "messages";
  if (!json.contains(key)) return bad_chat_file(where, R"(it has neither "messages" nor "conversations")");
  LATHE_TRY(chat.messages, chat_messages_in(json[key], is_sharegpt, where + "." + key));
  return chat;
}

Result<std::vector<ReadChat>> read_document(const Json& json, const std::string& where) {
  std::vector<ReadChat> chats;
  const bool is_list = json.is_array() && !json.empty();
  if (is_list && json.front().is_object() && (json.front().contains("role") || json.front().contains("from"))) {
    ReadChat chat;
    LATHE_TRY(chat.messages, chat_messages_in(json, json.front().contains("from"), where));
    chats.push_back(std::move(chat));
    return chats;
  }
  if (!is_list) {
    LATHE_TRY(ReadChat chat, read_chat(json, where));
    chats.push_back(std::move(chat));
    return chats;
  }
  for (const Json& item : json) {
    LATHE_TRY(ReadChat chat, read_chat(item, fmt::format("{}[{}]", where, chats.size())));
    chats.push_back(std::move(chat));
  }
  return chats;
}

bool is_blank_line(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

Result<std::vector<ReadChat>> read_lines(std::string_view bytes) {
  std::vector<ReadChat> chats;
  for (std::size_t line = 1; !bytes.empty(); ++line) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view text = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (is_blank_line(text)) continue;
    const std::string where = fmt::format("line {}", line);
    LATHE_TRY(const Json json, engine::parse_json(text, where));
    LATHE_TRY(std::vector<ReadChat> some, read_document(json, where));
    std::move(some.begin(), some.end(), std::back_inserter(chats));
  }
  return chats;
}

}  // namespace

std::span<const ChatFileFormat> chat_file_formats() { return kChatFormats; }

const ChatFileFormat* chat_file_format(std::string_view name) {
  const auto found =
      std::find_if(kChatFormats.begin(), kChatFormats.end(), [&](const ChatFileFormat& f) { return name == f.name; });
  return found == kChatFormats.end() ? nullptr : &*found;
}

Result<std::vector<ReadChat>> read_chats(std::string_view bytes) {
  if (bytes.size() > kMaxChatFileBytes)
    return engine::fail(ErrorCode::too_large, fmt::format("the file has {} MiB; at most {} MiB are read", bytes.size() >> 20,
                                                          kMaxChatFileBytes >> 20));
  const Result<Json> json = engine::parse_json(bytes, "the file");
  if (json) return read_document(*json, "the file");
  // Only a file of several documents can be JSON lines.
  const std::size_t first_line = bytes.find('\n');
  if (first_line == std::string_view::npos || !engine::parse_json(bytes.substr(0, first_line), "line 1"))
    return tl::unexpected<engine::Error>(json.error());
  return read_lines(bytes);
}

}  // namespace lathe::app
