// SPDX-License-Identifier: Apache-2.0
// Reads the fields that chat and plain completions share: sampling, counts, streaming.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/server/dialect.h"
#include "app/server/generate/structured_fields.h"
#include "app/server/request_body.h"
#include "engine/api/engine.h"
#include "engine/api/sampling_field.h"

namespace lathe::app {

struct CommonFields {
  engine::SamplingParams sampling;  ///< without max_tokens, which depends on the prompt
  std::optional<std::int64_t> max_tokens;
  std::string max_tokens_name = "max_tokens";  ///< name in the request
  std::int64_t n = 1, best_of = 1;
  bool stream = false, include_usage = false, continuous_usage = false;
  bool echo = false;
  bool return_token_ids = false;
  bool tokens_as_ids = false;  ///< return_tokens_as_token_ids: tokens appear as "token_id:17" instead of their texts
  bool cache_prompt = true;    ///< false: no prefix of the prompt is taken from the cache
  std::string cache_salt;
  StructuredFields structured;  ///< set by read_structured_fields()
};

/// Reads the fields and the sampling parameters of `table`; the model's defaults apply where a field is absent. max_tokens
/// and logprobs differ between the routes. Errors are recorded in `body`.
CommonFields read_common_fields(RequestFields& body, const engine::LoadedModel& model,
                                engine::SamplingTable table = engine::sampling_fields());

/// Reads "top_logprobs", the number of alternatives of a chat's tokens; 0 if it is absent. Errors are recorded in `body`.
std::int64_t read_top_logprobs(RequestFields& body);

/// Returns the maximum tokens of an answer: the requested number, else the default, but no more than fit into the context;
/// without either the answer may fill the context. The engine checks ids and ranges on submission. Errors: invalid_argument
/// with the counts, for a prompt that does not fit by itself, and for min_tokens above the remaining context.
engine::Result<std::int64_t> fit_to_context(const CommonFields& fields, std::optional<std::int64_t> default_max_tokens,
                                            std::size_t n_prompt_tokens, const engine::LoadedModel& model);

/// Refuses a text with so many bytes that it cannot fit into the context, whatever its tokens are; called before encoding
/// it. Errors: as fit_to_context.
engine::Result<void> check_text_size(std::size_t n_bytes, const engine::Engine& engine);

/// Appends n requests for one prompt, equal except for the seed, which counts up. `max_tokens`: from fit_to_context().
void append_requests(std::vector<engine::GenerateRequest>& out, const CommonFields& fields, std::int64_t n,
                     const std::vector<std::int32_t>& prompt, std::int64_t max_tokens);

/// Checks that every id is in the vocabulary. Errors: invalid_argument at `path`, with the index.
engine::Result<void> check_ids(const std::vector<std::int32_t>& ids, const std::string& path,
                               const engine::Tokenizer& tokenizer);

/// Checks that the request names the served model, or no model. Errors: not_found.
engine::Result<void> check_model(RequestFields& body, const ServerContext& context, const engine::LoadedModel& model);

}  // namespace lathe::app
