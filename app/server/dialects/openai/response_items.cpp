// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/response_items.h"

#include <algorithm>
#include <array>
#include <map>

#include "app/log/printable.h"
#include "app/server/generate/chat_messages.h"
#include "app/server/request_body.h"

namespace lathe::app::openai {
namespace {

using engine::ChatMessage;
using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using engine::Result;
using enum FieldFate;

constexpr std::array<std::string_view, 4> kItemRoles = {"user", "assistant", "system", "developer"};

/// Members of items and parts that a client sends back as it got them.
constexpr KnownField kItemFields[] = {
    {.name = "id", .fate = harmless},
    {.name = "type", .fate = harmless},
    {.name = "status", .fate = harmless},
    {.name = "annotations", .fate = harmless},
    {.name = "logprobs", .fate = harmless},
    {.name = "summary", .fate = harmless},
    {.name = "encrypted_content", .fate = harmless},
    {.name = "phase", .fate = harmless},
    {.name = "caller", .fate = harmless},
    {.name = "prompt_cache_breakpoint", .fate = harmless},
};

class ResponseItems {
 public:
  ResponseItems(RequestFields& body, const std::vector<ChatMessage>& earlier, IdSource& ids) : body_(body), ids_(ids) {
    for (const ChatMessage& message : earlier) {
      for (const engine::ToolCall& call : message.tool_calls) call_names_[call.id] = call.name;
    }
  }

  Result<ResponseInput> read(const OrderedJson& ordered) {
    const Json* input = body_.any("input");
    if (input == nullptr) body_.refuse("input", "is missing");
    LATHE_TRY_VOID(body_.verdict());
    if (!input->is_array()) {
      const std::string text = body_.text("input").value_or("");
      LATHE_TRY_VOID(body_.verdict());
      input_.messages.push_back({.role = "user", .content = text});
      keep({{"type", "message"}, {"role", "user"}, {"content", text}});
      return std::move(input_);
    }
    for (std::size_t i = 0; i < input->size(); ++i) {
      const std::string path = "input[" + std::to_string(i) + "]";
      if (!(*input)[i].is_object()) return engine::fail(ErrorCode::invalid_argument, "must be an object", path);
      RequestFields item((*input)[i], path);
      LATHE_TRY_VOID(read_item(item));
      LATHE_TRY_VOID(item.verdict());
      warn_of_unread_fields(item, kItemFields);
      body_.take_over(item);
      keep(ordered["input"][i]);
    }
    end_turn();
    if (input_.messages.empty()) body_.refuse("input", "must hold at least one item");
    LATHE_TRY_VOID(body_.verdict());
    return std::move(input_);
  }

 private:
  Result<void> read_item(RequestFields& item) {
    const std::string type = item.text("type").value_or("message");
    if (type == "message") return read_message(item);
    if (type == "reasoning") return read_reasoning(item);
    if (type == "function_call") {
      read_call(item);
    } else if (type == "function_call_output") {
      return read_output(item);
    } else {
      item.refuse("type", "this server has no items of the type \"" + printable(type, 40) + "\"");
    }
    return {};
  }

  Result<void> read_message(RequestFields& item) {
    const std::string role = item.text("role").value_or("");
    if (std::find(kItemRoles.begin(), kItemRoles.end(), role) == kItemRoles.end())
      item.refuse("role", "must be user, assistant, system or developer, got \"" + printable(role, 40) + "\"");
    if (role != "assistant") {
      end_turn();
      ChatMessage message{.role = role == "developer" ? "system" : role};
      LATHE_TRY_VOID(read_texts(item, "content", message));
      input_.messages.push_back(std::move(message));
      return {};
    }
    if (!turn_.content.empty() || !turn_.parts.empty() || !turn_.tool_calls.empty()) end_turn();
    has_turn_ = true;
    return read_texts(item, "content", turn_);
  }

  /// Reads a text or a list of parts with texts.
  static Result<void> read_texts(RequestFields& item, const char* name, ChatMessage& message) {
    const Json* content = item.any(name);
    if (content == nullptr) item.refuse(name, "is missing");
    LATHE_TRY_VOID(item.verdict());
    if (!content->is_array()) {
      message.content = item.text(name).value_or("");
      return item.verdict();
    }
    for (std::size_t i = 0; i < content->size(); ++i) {
      const std::string path = item.path_of(name) + "[" + std::to_string(i) + "]";
      if (!(*content)[i].is_object()) return engine::fail(ErrorCode::invalid_argument, "must be an object", path);
      RequestFields part((*content)[i], path);
      const std::string type = part.text("type").value_or("");
      const bool is_text = type == "input_text" || type == "output_text" || type == "text";
      if (!is_text && type != "refusal")
        part.refuse("type", "this model reads only text, not \"" + printable(type, 40) + "\"");
      auto text = part.text(is_text ? "text" : "refusal");
      if (!text) part.refuse(is_text ? "text" : "refusal", "is missing");
      LATHE_TRY_VOID(part.verdict());
      warn_of_unread_fields(part, kItemFields);
      item.take_over(part);
      add_part(message, *std::move(text));
    }
    return {};
  }

  /// Reads reasoning, which belongs to the message or the calls that follow it.
  Result<void> read_reasoning(RequestFields& item) {
    if (!turn_.content.empty() || !turn_.tool_calls.empty()) end_turn();
    has_turn_ = true;
    const Json* content = item.array("content");
    for (std::size_t i = 0; content != nullptr && i < content->size(); ++i) {
      const Json& part = (*content)[i];
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        add_reasoning(turn_, part["text"].get<std::string>());
    }
    return {};
  }

  void read_call(RequestFields& item) {
    engine::ToolCall call;
    call.id = item.text("call_id").value_or("");
    call.name = item.text("name").value_or("");
    if (call.id.empty()) item.refuse("call_id", "is missing or empty");
    if (call.name.empty()) item.refuse("name", "is missing or empty");
    call.arguments = item.text("arguments").value_or("");
    check_arguments(item, call.arguments);
    call_names_[call.id] = call.name;
    has_turn_ = true;
    turn_.tool_calls.push_back(std::move(call));
  }

  Result<void> read_output(RequestFields& item) {
    end_turn();
    ChatMessage result{.role = "tool"};
    result.tool_call_id = item.text("call_id").value_or("");
    if (result.tool_call_id.empty()) item.refuse("call_id", "is missing or empty");
    if (const auto named = call_names_.find(result.tool_call_id); named != call_names_.end()) result.name = named->second;
    LATHE_TRY_VOID(read_texts(item, "output", result));
    input_.messages.push_back(std::move(result));
    return {};
  }

  void end_turn() {
    if (has_turn_) input_.messages.push_back(std::exchange(turn_, ChatMessage{.role = "assistant"}));
    has_turn_ = false;
  }

  /// Keeps an item as the list of input items has it.
  void keep(OrderedJson item) {
    if (!item.contains("type")) item["type"] = "message";
    const bool is_message = item["type"] == "message";
    if (!item.contains("id") || !item["id"].is_string()) item["id"] = (is_message ? "msg_" : "item_") + ids_.next();
    if (is_message && item["content"].is_string()) {
      const char* type = item["role"] == "assistant" ? "output_text" : "input_text";
      item["content"] = OrderedJson::array({{{"type", type}, {"text", item["content"]}}});
    }
    if (!item.contains("status")) item["status"] = "completed";
    input_.items.push_back(std::move(item));
  }

  RequestFields& body_;
  IdSource& ids_;
  ResponseInput input_;
  ChatMessage turn_{.role = "assistant"};  ///< the turn of the assistant that is being read
  bool has_turn_ = false;
  std::map<std::string, std::string> call_names_;  ///< names of the tools by the ids of their calls
};

}  // namespace

Result<ResponseInput> read_response_input(RequestFields& body, const OrderedJson& ordered,
                                          const std::vector<ChatMessage>& earlier, IdSource& ids) {
  return ResponseItems(body, earlier, ids).read(ordered);
}

}  // namespace lathe::app::openai
