// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/anthropic/message_blocks.h"

#include <map>

#include "app/log/printable.h"
#include "app/server/generate/chat_messages.h"
#include "app/server/request_body.h"
#include "engine/api/exact_json.h"

namespace lathe::app::anthropic {
namespace {

using engine::ChatMessage;
using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;
using enum FieldFate;

/// Members of blocks and messages that a client sends back as it got them, or that change no answer.
constexpr KnownField kBlockFields[] = {
    {.name = "cache_control", .fate = harmless}, {.name = "citations", .fate = harmless},
    {.name = "signature", .fate = harmless},     {.name = "data", .fate = harmless},
    {.name = "caller", .fate = harmless},        {.name = "toolset_name", .fate = harmless},
    {.name = "is_error", .fate = harmless},      {.name = "id", .fate = harmless},
    {.name = "type", .fate = harmless},
};

class MessageBlocks {
 public:
  MessageBlocks(RequestFields& body, const OrderedJson& ordered) : body_(body), ordered_(ordered) {}

  Result<std::vector<ChatMessage>> read() {
    LATHE_TRY_VOID(read_system());
    const Json* messages = body_.array("messages");
    if (messages == nullptr || messages->empty()) body_.refuse("messages", "must be a list of at least one message");
    LATHE_TRY_VOID(body_.verdict());
    for (std::size_t i = 0; i < messages->size(); ++i) {
      LATHE_TRY_VOID(read_message((*messages)[i], ordered_["messages"][i], "messages[" + std::to_string(i) + "]"));
    }
    return std::move(messages_);
  }

 private:
  Result<void> read_system() {
    const Json* system = body_.any("system");
    if (system == nullptr || *system == "" || (system->is_array() && system->empty())) return {};
    ChatMessage message{.role = "system"};
    if (system->is_array()) {
      for (std::size_t i = 0; i < system->size(); ++i) {
        LATHE_TRY_VOID(read_text_block((*system)[i], "system[" + std::to_string(i) + "]", message));
      }
    } else {
      message.content = body_.text("system").value_or("");
      LATHE_TRY_VOID(body_.verdict());
    }
    messages_.push_back(std::move(message));
    return {};
  }

  Result<void> read_message(const Json& json, const OrderedJson& ordered, const std::string& path) {
    if (!json.is_object())
      return engine::fail(ErrorCode::invalid_argument, "must be an object with \"role\" and \"content\"", path);
    RequestFields reader(json, path);
    ChatMessage message;
    message.role = reader.text("role").value_or("");
    if (message.role != "user" && message.role != "assistant" && message.role != "system") {
      reader.refuse("role", "must be user, assistant or system, got \"" + printable(message.role, 40) + "\"");
    }
    const Json* content = reader.any("content");
    if (content == nullptr) reader.refuse("content", "is missing");
    LATHE_TRY_VOID(reader.verdict());
    if (content->is_array()) {
      if (content->empty() && message.role != "assistant") reader.refuse("content", "must not be an empty list");
      for (std::size_t i = 0; i < content->size() && !reader.failed(); ++i) {
        LATHE_TRY_VOID(
            read_block((*content)[i], ordered["content"][i], path + ".content[" + std::to_string(i) + "]", message));
      }
    } else {
      message.content = reader.text("content").value_or("");
    }
    LATHE_TRY_VOID(reader.verdict());
    warn_of_unread_fields(reader, kBlockFields);
    body_.take_over(reader);
    // A message of nothing but results has become the messages of these results.
    const bool is_only_results = message.role == "user" && content->is_array() && message.parts.empty();
    if (!is_only_results) messages_.push_back(std::move(message));
    return {};
  }

  Result<void> read_block(const Json& json, const OrderedJson& ordered, const std::string& path, ChatMessage& message) {
    if (!json.is_object()) return engine::fail(ErrorCode::invalid_argument, "must be an object with \"type\"", path);
    RequestFields block(json, path);
    const std::string type = block.text("type").value_or("");
    const bool is_assistant = message.role == "assistant";
    if (type == "text") return read_text_block(json, path, message);
    if (is_assistant && type == "thinking") {
      add_reasoning(message, block.text("thinking").value_or(""));
    } else if (is_assistant && type == "redacted_thinking") {
      return {};  // encrypted for its author's models
    } else if (is_assistant && type == "tool_use") {
      read_call(block, ordered, message);
    } else if (message.role == "user" && type == "tool_result") {
      LATHE_TRY_VOID(read_result(block, path));
    } else {
      block.refuse("type", "this model reads only text, not \"" + printable(type, 40) + "\"");
    }
    LATHE_TRY_VOID(block.verdict());
    warn_of_unread_fields(block, kBlockFields);
    body_.take_over(block);
    return {};
  }

  Result<void> read_text_block(const Json& json, const std::string& path, ChatMessage& message) {
    if (!json.is_object()) return engine::fail(ErrorCode::invalid_argument, "must be an object with \"type\"", path);
    RequestFields block(json, path);
    const std::string type = block.text("type").value_or("");
    if (type != "text") block.refuse("type", "this model reads only text, not \"" + printable(type, 40) + "\"");
    auto text = block.text("text");
    if (!text) block.refuse("text", "is missing");
    LATHE_TRY_VOID(block.verdict());
    warn_of_unread_fields(block, kBlockFields);
    body_.take_over(block);
    add_part(message, *std::move(text));
    return {};
  }

  void read_call(RequestFields& block, const OrderedJson& ordered, ChatMessage& message) {
    engine::ToolCall call;
    call.id = block.text("id").value_or("");
    call.name = block.text("name").value_or("");
    if (call.name.empty()) block.refuse("name", "is missing or empty");
    if (block.object("input") != nullptr) call.arguments = engine::dump_exact_json(ordered["input"]);
    else block.refuse("input", "is missing");
    call_names_[call.id] = call.name;
    message.tool_calls.push_back(std::move(call));
  }

  Result<void> read_result(RequestFields& block, const std::string& path) {
    ChatMessage result{.role = "tool"};
    result.tool_call_id = block.text("tool_use_id").value_or("");
    if (result.tool_call_id.empty()) block.refuse("tool_use_id", "is missing or empty");
    if (const auto named = call_names_.find(result.tool_call_id); named != call_names_.end()) result.name = named->second;
    const Json* content = block.any("content");
    if (content != nullptr && content->is_array()) {
      for (std::size_t i = 0; i < content->size(); ++i) {
        LATHE_TRY_VOID(read_text_block((*content)[i], path + ".content[" + std::to_string(i) + "]", result));
      }
    } else {
      result.content = block.text("content").value_or("");
    }
    messages_.push_back(std::move(result));
    return {};
  }

  RequestFields& body_;
  const OrderedJson& ordered_;
  std::vector<ChatMessage> messages_;
  std::map<std::string, std::string> call_names_;  ///< names of the tools by the ids of their calls
};

}  // namespace

Result<std::vector<ChatMessage>> read_message_blocks(RequestFields& body, const OrderedJson& ordered) {
  return MessageBlocks(body, ordered).read();
}

}  // namespace lathe::app::anthropic
