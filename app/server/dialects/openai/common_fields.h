// SPDX-License-Identifier: Apache-2.0
// The fields that chat and plain completions share: sampling, counts, streaming.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/server/request_body.h"
#include "engine/api/engine.h"

namespace lathe::app::openai {

struct CommonFields {
  engine::SamplingParams sampling;  ///< without max_tokens, which depends on the prompt
  std::optional<std::int64_t> max_tokens;
  std::string max_tokens_name = "max_tokens";  ///< as the request has it
  std::int64_t n = 1, best_of = 1;
  bool stream = false, include_usage = false, continuous_usage = false;
  bool echo = false;
  bool return_token_ids = false;
  bool tokens_as_ids = false;  ///< return_tokens_as_token_ids: "token_id:17" in place of texts
  std::string cache_salt;
};

/// Reads them over the model's own defaults. Complaints go to the reader.
CommonFields read_common_fields(RequestFields& body, const engine::LoadedModel& model);

/// Tokens of the answer to a prompt: what was asked, or else the default, but no more than the context leaves; without
/// either the answer may fill the context. Ids and ranges are checked by the engine when it gets the request. Errors:
/// invalid_argument with the numbers, for a prompt that does not fit by itself, and for min_tokens above what is left.
engine::Result<std::int64_t> fit_to_context(const CommonFields& fields, std::optional<std::int64_t> default_max_tokens,
                                            std::size_t n_prompt_tokens, const engine::LoadedModel& model);

/// A text of so many bytes that it cannot fit, whatever ids they become: to be asked before encoding it.
/// Errors: as fit_to_context.
engine::Result<void> check_text_size(std::size_t n_bytes, const engine::Engine& engine);

/// Requests for n answers to one prompt: the same but for the seed, which counts up. `max_tokens`: of fit_to_context().
void append_requests(std::vector<engine::GenerateRequest>& out, const CommonFields& fields, std::int64_t n,
                     const std::vector<std::int32_t>& prompt, std::int64_t max_tokens);

/// Every id must be one of the tokenizer's. Errors: invalid_argument at `path`, with the index.
engine::Result<void> check_ids(const std::vector<std::int32_t>& ids, const std::string& path,
                               const engine::Tokenizer& tokenizer);

/// The model `served` must be the one that is named; no name is any. Errors: not_found.
engine::Result<void> check_model(RequestFields& body, const std::string& served);
engine::Result<void> check_model_name(std::string_view name, const std::string& served);

}  // namespace lathe::app::openai
