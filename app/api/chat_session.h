// SPDX-License-Identifier: Apache-2.0
// Chat session: makes a prompt of messages and starts a request, which appears in the request log. Needs no window.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "app/api/model_slot.h"
#include "app/api/request_log.h"

namespace lathe::app {

struct ChatTurn {
  std::vector<engine::ChatMessage> messages;
  engine::SamplingParams sampling;
  bool continue_final_message = false;  ///< the answer continues the last assistant message
  /// The prompt is the text of the messages, one after the other as they are: for models without a chat template.
  bool completes = false;
  std::string source = "chat", client = "Lathe chat", route = "Chat page";
};

/// A running generation. poll() and wait() also update its row in the request log. The text of its events is the answer's
/// content; take_reasoning() returns the reasoning, which the model's reasoning parser separates from the content.
class ChatGeneration {
 public:
  virtual ~ChatGeneration() = default;
  virtual std::uint64_t engine_id() const = 0;
  virtual std::uint64_t record_number() const = 0;
  virtual bool poll(engine::TokenEvent& event) = 0;
  virtual bool wait(engine::TokenEvent& event, std::chrono::milliseconds timeout) = 0;
  virtual void cancel() = 0;
  /// Returns the reasoning that has arrived since the last call.
  virtual std::string take_reasoning() = 0;
};

/// Errors: unavailable (no model), invalid_argument (the template's message; the prompt is too long, with its length).
engine::Result<std::unique_ptr<ChatGeneration>> start_chat(ModelSlot& slot, RequestLog& log, const ChatTurn& turn);

/// The tokens of a turn's prompt. Errors: as start_chat.
engine::Result<std::vector<std::int32_t>> prompt_ids(const engine::Engine& engine, const ChatTurn& turn);

/// Number of tokens of the conversation's prompt. Errors: as start_chat.
engine::Result<std::int64_t> count_tokens(ModelSlot& slot, const std::vector<engine::ChatMessage>& messages,
                                          bool completes = false);

}  // namespace lathe::app
