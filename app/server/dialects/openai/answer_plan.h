// SPDX-License-Identifier: Apache-2.0
// AnswerPlan: what all parts of one answer share, streamed or whole.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/api/model_slot.h"
#include "app/server/dialects/openai/answer_reader.h"
#include "app/server/dialects/openai/common_fields.h"
#include "app/server/dialects/openai/token_offsets.h"
#include "engine/api/json.h"

namespace lathe::app::openai {

struct PromptPlan {
  std::vector<std::int32_t> ids;
  std::string text;                  ///< sent back by echo
  std::vector<TokenOffset> offsets;  ///< of the ids in the text, where echo has log probabilities
  std::int64_t max_tokens = 0;       ///< of each answer
};

struct AnswerPlan {
  bool chat = false;         ///< chat.completion, else text_completion
  std::string id;            ///< "chatcmpl-..."
  std::int64_t created = 0;  ///< Unix seconds
  std::string model;         ///< as the client knows it
  std::string loaded_model;  ///< whose token names hold
  CommonFields fields;
  bool report_logprobs = false;  ///< best_of asks the engine for them without showing them
  bool prompt_only = false;      ///< echo with max_tokens 0: the generated token is thrown away
  std::vector<PromptPlan> prompts;
  ChoiceReading reading;               ///< of a chat
  std::vector<FieldWarning> warnings;  ///< of fields that the answer does not obey
  const ModelSlot* models = nullptr;
  IdSource* ids = nullptr;  ///< of the tool calls

  std::size_t prompt_of(std::size_t member) const { return member / static_cast<std::size_t>(fields.best_of); }
  /// While streaming best_of equals n, so a member's number is its choice's.
  std::int64_t n_prompt_tokens() const;
};

/// Names of tokens, and the text that they add to the answer.
/// Holds the engine while it lives: make it for one call.
class TokenNames {
 public:
  explicit TokenNames(const AnswerPlan& plan);
  /// The text of a token, U+FFFD for bytes that are none; "token_id:17" when it is asked for so or the model has gone
  /// meanwhile.
  std::string text_of(std::int32_t id) const;
  /// The same, but for a token that is no text by itself its bytes, as OpenAI writes them: "bytes:\\xe2\\x80".
  /// `is_first`: without the space that a tokenizer puts before a text.
  std::string name_of(std::int32_t id, bool is_first = false) const;
  /// Bytes that the token adds to the answer's text: none for control tokens that are left out. None: the model has gone.
  std::optional<std::string> bytes_of(std::int32_t id) const;

 private:
  EngineLease lease_;
  bool as_ids_, skips_special_;
};

/// {"prompt_tokens", "total_tokens", "completion_tokens", "prompt_tokens_details": {"cached_tokens"}}
engine::OrderedJson usage_json(std::int64_t n_prompt, std::int64_t n_completion, std::int64_t n_cached);

/// The stop string or stop token id that ended a choice; null for the end token and for the length.
engine::OrderedJson stop_reason_json(const engine::TokenEvent& event);

/// Why a choice that did not end by itself failed. Requires: finish_reason cancelled or error.
engine::Error failure_of(const engine::TokenEvent& event, bool server_stops);

}  // namespace lathe::app::openai
