// SPDX-License-Identifier: Apache-2.0
// Chat generation without a window: messages to a prompt to a running request that the table of requests knows.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/api/model_slot.h"
#include "app/api/request_log.h"

namespace lathe::app {

struct ChatTurn {
  std::vector<engine::ChatMessage> messages;
  engine::SamplingParams sampling;
  bool continue_final_message = false;  ///< go on writing the last assistant message
  std::string source = "chat", client = "Lathe chat", route = "Chat page";
};

/// A generation under way. poll() also keeps its row in the request log. The text of its events is the answer's content:
/// reasoning, which the model's reasoning parser takes out, comes by take_reasoning().
class ChatGeneration {
 public:
  virtual ~ChatGeneration() = default;
  virtual std::uint64_t engine_id() const = 0;
  virtual std::uint64_t record_number() const = 0;
  virtual bool poll(engine::TokenEvent& event) = 0;
  virtual bool wait(engine::TokenEvent& event, std::chrono::milliseconds timeout) = 0;
  virtual void cancel() = 0;
  /// Takes the reasoning that has come since the last call.
  virtual std::string take_reasoning() = 0;
};

/// Errors: unavailable (no model), invalid_argument (template's message; too long, with numbers).
engine::Result<std::unique_ptr<ChatGeneration>> start_chat(ModelSlot& slot, RequestLog& log, const ChatTurn& turn);

/// Tokens of the rendered conversation. Errors as start_chat.
engine::Result<std::int64_t> count_tokens(ModelSlot& slot, const std::vector<engine::ChatMessage>& messages);

}  // namespace lathe::app
