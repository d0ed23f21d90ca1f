// SPDX-License-Identifier: Apache-2.0
// AnswerPlan: the settings and prompts of one answer, streamed or whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/api/model_slot.h"
#include "app/server/generate/answer_reader.h"
#include "app/server/generate/common_fields.h"
#include "app/server/generate/token_offsets.h"
#include "app/server/http/message.h"
#include "engine/api/json.h"

namespace lathe::app {

struct PromptPlan {
  std::vector<std::int32_t> ids;
  std::string text;                  ///< text for echo
  std::vector<TokenOffset> offsets;  ///< offsets of the ids in the text, if echo shows log probabilities
  std::int64_t max_tokens = 0;       ///< limit of each answer
};

struct AnswerPlan {
  bool chat = false;         ///< an answer to a chat, read by `reading`; else the text that completes a prompt
  std::string id;            ///< "chatcmpl-..."
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;         ///< served name, as the client knows it
  std::string loaded_model;  ///< name of the loaded model, whose tokenizer names the tokens
  CommonFields fields;
  bool report_logprobs = false;    ///< false: log probabilities, which best_of may need, are not shown
  bool has_generic_tools = false;  ///< the tools are in texts of the prompt, and calls in the generic format
  bool prompt_only = false;        ///< echo with max_tokens 0: the generated token is discarded
  std::vector<PromptPlan> prompts;
  ChoiceReading reading;               ///< chat only
  std::vector<FieldWarning> warnings;  ///< warnings of ignored fields
  const ModelSlot* models = nullptr;
  IdSource* ids = nullptr;  ///< source of the tool calls' ids

  /// While streaming, best_of equals n, so that a member's index is also that of its choice.
  std::size_t prompt_of(std::size_t member) const { return member / static_cast<std::size_t>(fields.best_of); }
  std::int64_t n_prompt_tokens() const;
};

/// Returns the fields of the reply to a plan: those of its warnings, and "x-lathe-tools: generic" for generic tools.
std::vector<http::Field> answer_fields(const AnswerPlan& plan);

/// Names of tokens, and the bytes that they add to the answer. Holds a lease of the engine: create one per call.
class TokenNames {
 public:
  explicit TokenNames(const AnswerPlan& plan);
  /// Returns the text of a token, U+FFFD for bytes that are no UTF-8; "token_id:17" if the request asks for ids or the model
  /// was unloaded.
  std::string text_of(std::int32_t id) const;
  /// Like text_of(), but writes a token that is no complete text as bytes, in OpenAI's form: "bytes:\\xe2\\x80". `is_first`:
  /// leaves out the space that a tokenizer puts before a text.
  std::string name_of(std::int32_t id, bool is_first = false) const;
  /// Returns the bytes that the token adds to the answer's text; empty for control tokens that are left out. Nothing: the
  /// model was unloaded.
  std::optional<std::string> bytes_of(std::int32_t id) const;

 private:
  EngineLease lease_;
  bool as_ids_, skips_special_;
};

/// True if the event ends a choice that is not complete.
inline bool is_failure(const engine::TokenEvent& event) {
  return event.finish_reason == engine::FinishReason::error || event.finish_reason == engine::FinishReason::cancelled;
}

/// Returns the error of a choice that did not finish. Requires: is_failure(event).
engine::Error failure_of(const engine::TokenEvent& event, bool server_stops);

}  // namespace lathe::app
