// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/common_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/log/printable.h"

namespace lathe::app {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::SamplingParams;

constexpr std::int64_t kMaxAnswers = 128;  // vLLM's documentation advises 64 to 128 for public servers

/// Reads do_sample of transformers and TGI: false means greedy.
void read_do_sample(RequestFields& body, SamplingParams& sampling) {
  if (body.flag("do_sample").value_or(true)) return;
  if (body.number("temperature").value_or(0) > 0) {
    body.refuse("do_sample", "false contradicts a temperature above 0; send one of them");
  }
  sampling.temperature = 0;
}

void read_sampling(RequestFields& body, engine::SamplingTable table, SamplingParams& sampling) {
  for (const engine::SamplingField& field : table) {
    if (!field.dialect_decodes) body.sampling(field, sampling);
  }
  read_do_sample(body, sampling);
}

/// Reads max_tokens, and max_completion_tokens, chat's newer name of it.
void read_max_tokens(RequestFields& body, CommonFields& fields) {
  fields.max_tokens = body.integer("max_tokens");
  fields.max_tokens_name = body.path_of("max_tokens");
  if (const auto tokens = body.integer("max_completion_tokens")) {
    if (fields.max_tokens && *fields.max_tokens != *tokens) {
      body.refuse("max_completion_tokens",
                  fmt::format("\"max_completion_tokens\" ({}) and \"{}\" ({}) are the same field and have different values; "
                              "send one of them",
                              *tokens, fields.max_tokens_name, *fields.max_tokens));
    }
    fields.max_tokens = tokens;
    fields.max_tokens_name = "max_completion_tokens";
  }
}

void read_counts(RequestFields& body, CommonFields& fields) {
  fields.n = body.integer("n").value_or(1);
  if (fields.n < 1 || fields.n > kMaxAnswers) {
    body.refuse("n", fmt::format("must be between 1 and {}, got {}", kMaxAnswers, fields.n));
  }
  fields.best_of = body.integer("best_of").value_or(fields.n);
  if (fields.best_of < fields.n || fields.best_of > kMaxAnswers) {
    body.refuse("best_of", fmt::format("must be between n ({}) and {}, got {}", fields.n, kMaxAnswers, fields.best_of));
  }
  if (fields.stream && fields.best_of > fields.n) body.refuse("best_of", "must equal n while streaming");
}

void read_stream_fields(RequestFields& body, CommonFields& fields) {
  fields.stream = body.flag("stream").value_or(false);
  const Json* options = body.object("stream_options");
  if (options == nullptr) return;
  if (!fields.stream) body.refuse("stream_options", "can only be given with stream = true");
  RequestFields reader(*options, "stream_options");
  fields.include_usage = reader.flag("include_usage").value_or(false);
  fields.continuous_usage = reader.flag("continuous_usage_stats").value_or(false);
  reader.flag("include_obfuscation");  // padding that hides lengths from eavesdroppers; the answer is the same
  warn_of_unread_fields(reader);
  body.take_over(reader);
}

}  // namespace

std::int64_t read_top_logprobs(RequestFields& body) {
  const std::int64_t n_top = body.integer("top_logprobs").value_or(0);
  const auto most =
      static_cast<std::int64_t>(engine::find_sampling_field(engine::sampling_fields(), "logprobs")->option.max);
  if (n_top < 0 || n_top > most) {
    body.refuse("top_logprobs", fmt::format("top_logprobs must be between 0 and {}, got {}", most, n_top));
  }
  return n_top;
}

CommonFields read_common_fields(RequestFields& body, const engine::LoadedModel& model, engine::SamplingTable table) {
  CommonFields fields;
  fields.sampling = model.default_sampling;
  fields.sampling.logprobs.reset();
  fields.sampling.prompt_logprobs.reset();
  read_stream_fields(body, fields);
  read_sampling(body, table, fields.sampling);
  read_counts(body, fields);
  read_max_tokens(body, fields);
  fields.return_token_ids = body.flag("return_token_ids").value_or(false);
  fields.tokens_as_ids = body.flag("return_tokens_as_token_ids").value_or(false);
  fields.cache_prompt = body.flag("cache_prompt").value_or(true);
  if (const auto salt = body.text("cache_salt")) {
    fields.cache_salt = *salt;
    if (salt->empty()) body.refuse("cache_salt", "must not be empty");
  }
  if (fields.stream && fields.sampling.prompt_logprobs) body.refuse("prompt_logprobs", "are not available while streaming");
  return fields;
}

engine::Result<std::int64_t> fit_to_context(const CommonFields& fields, std::optional<std::int64_t> default_max_tokens,
                                            std::size_t n_prompt_tokens, const engine::LoadedModel& model) {
  const auto refuse = [](std::string message, std::string where) {
    return engine::fail(ErrorCode::invalid_argument, std::move(message), std::move(where));
  };
  const auto n_prompt = static_cast<std::int64_t>(n_prompt_tokens);
  const std::int64_t limit = model.max_model_len, left = limit - n_prompt, asked = fields.max_tokens.value_or(1);
  const std::int64_t n_least = fields.sampling.min_tokens;
  if (n_prompt == 0) return refuse("the prompt is empty: it has no token", "prompt");
  if (asked < 1) {
    return refuse(fmt::format("{} must be at least 1, got {}", fields.max_tokens_name, asked), fields.max_tokens_name);
  }
  if (left < 1) {
    return refuse(
        fmt::format(
            "This model's maximum context length is {} tokens. However, your prompt contains {} input tokens, and at "
            "least one token is needed for the answer. Please reduce the length of the input prompt.",
            limit, n_prompt),
        "input_tokens");
  }
  if (n_least > left) {
    return refuse(
        fmt::format("min_tokens must be at most {}, got {}: the context holds {} tokens, and {} of them are the prompt's",
                    left, n_least, limit, n_prompt),
        "min_tokens");
  }
  return std::min(fields.max_tokens ? asked : default_max_tokens.value_or(left), left);
}

engine::Result<void> check_text_size(std::size_t n_bytes, const engine::Engine& engine) {
  const std::size_t most = engine.tokenizer().max_bytes_per_token();
  const auto limit = static_cast<std::size_t>(engine.model().max_model_len);
  if (most == 0 || n_bytes / most < limit) return {};
  return engine::fail(
      ErrorCode::invalid_argument,
      fmt::format("This model's maximum context length is {} tokens. However, your prompt has {} bytes, which are at least "
                  "{} input tokens. Please reduce the length of the input prompt.",
                  limit, n_bytes, n_bytes / most),
      "input_tokens");
}

void append_requests(std::vector<engine::GenerateRequest>& out, const CommonFields& fields, std::int64_t n,
                     const std::vector<std::int32_t>& prompt, std::int64_t max_tokens) {
  for (std::int64_t i = 0; i < n; ++i) {
    engine::GenerateRequest request{prompt, fields.sampling, fields.cache_salt, "server"};
    request.sampling.max_tokens = max_tokens;
    if (!fields.structured.json.empty()) request.sampling.structured_outputs = fields.structured.json;
    request.counts_prompt = i == 0;  // usage counts the prompt of n answers once
    if (request.sampling.seed) *request.sampling.seed += static_cast<std::uint64_t>(i);
    out.push_back(std::move(request));
  }
}

engine::Result<void> check_ids(const std::vector<std::int32_t>& ids, const std::string& path,
                               const engine::Tokenizer& tokenizer) {
  const std::int32_t vocab_size = tokenizer.vocab_size();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= 0 && ids[i] < vocab_size) continue;
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("token ID {} is not in the vocabulary (0 to {})", ids[i], vocab_size - 1),
                        fmt::format("{}[{}]", path, i));
  }
  return {};
}

engine::Result<void> check_model(RequestFields& body, const ServerContext& context, const engine::LoadedModel& model) {
  const std::string asked = body.text("model").value_or("");
  LATHE_TRY_VOID(body.verdict());
  if (asked.empty()) return {};
  return context.check_model_name(asked, model);
}

}  // namespace lathe::app
