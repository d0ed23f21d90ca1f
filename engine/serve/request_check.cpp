// SPDX-License-Identifier: Apache-2.0
#include "engine/serve/request_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace lathe::engine {
namespace {

constexpr std::size_t kMaxSaltBytes = 256;  // longer than any key or account name

tl::unexpected<Error> refuse(std::string message) { return fail(ErrorCode::invalid_argument, std::move(message), "prompt"); }

Result<void> check_ids(const GenerateRequest& request, std::int64_t vocab_size) {
  for (std::size_t i = 0; i < request.prompt_token_ids.size(); ++i) {
    const std::int32_t id = request.prompt_token_ids[i];
    if (id >= 0 && id < vocab_size) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("Token ID {} is not in the vocabulary: IDs run from 0 to {}.", id, vocab_size - 1),
                fmt::format("prompt[{}]", i));
  }
  return {};
}

/// Checks the length of a text that is pooled: no place is needed for an answer.
Result<void> check_text_length(std::int64_t n_tokens, const RequestLimits& limits) {
  const std::int64_t most =
      std::min(limits.context(), limits.chunked_prefill ? limits.context() : limits.max_num_batched_tokens);
  if (n_tokens == 0) return refuse("a text without tokens has no vector");
  if (n_tokens <= most) return {};
  return refuse(fmt::format("the text has {} tokens, but the model reads at most {}; shorten it", n_tokens, most));
}

Result<void> check_length(std::int64_t n_prompt, const RequestLimits& limits) {
  if (n_prompt == 0) return refuse("The prompt is empty: at least one token is needed.");
  if (n_prompt >= limits.max_model_len) {
    return refuse(
        fmt::format("The prompt has {} tokens, but the context holds {}, one of them for the answer. Shorten the "
                    "prompt by {} or load the model with a larger max_model_len.",
                    n_prompt, limits.max_model_len, n_prompt - limits.max_model_len + 1));
  }
  if (n_prompt >= limits.pool_tokens()) {
    return refuse(
        fmt::format("The prompt has {} tokens and needs {} KV blocks, but the whole pool has {} blocks of {} tokens. "
                    "Shorten the prompt or give the pool more blocks.",
                    n_prompt, n_prompt / limits.block_size + 1, limits.n_blocks, limits.block_size));
  }
  if (!limits.chunked_prefill && n_prompt > limits.max_num_batched_tokens) {
    return refuse(
        fmt::format("The prompt has {} tokens; without chunked prefill it must fit into one step of "
                    "max_num_batched_tokens = {}. Shorten it, raise max_num_batched_tokens, or set enable_chunked_prefill.",
                    n_prompt, limits.max_num_batched_tokens));
  }
  return {};
}

/// Refuses a min_tokens beyond the context, where each answer ends.
Result<void> check_min_tokens(std::int64_t n_prompt, std::int64_t min_tokens, const RequestLimits& limits) {
  const std::int64_t left = limits.context() - n_prompt;
  if (min_tokens <= left) return {};
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("min_tokens must be at most {}, got {}: the context holds {} tokens, and {} of them are the prompt's.",
                  left, min_tokens, limits.context(), n_prompt),
      "min_tokens");
}

}  // namespace

Result<void> check_answer_kind(const GenerateRequest& request, const LoadedModel& model) {
  if (!request.pooling && !model.generates) {
    return fail(ErrorCode::unsupported,
                fmt::format("{} has no output head: it turns texts into vectors and cannot generate text; see lathe embed",
                            model.info.architecture),
                "model");
  }
  if (!request.pooling) return {};
  if (request.pooling->classifies || model.labels) {
    if (request.pooling->classifies && model.labels) return {};
    return fail(
        ErrorCode::unsupported,
        fmt::format("{} {}", model.name,
                    model.labels ? "has a classifier: it gives labels and scores, and no vectors" : "has no classifier"),
        "model");
  }
  if (model.vectors) return validate(*request.pooling, *model.vectors);
  return fail(ErrorCode::unsupported,
              fmt::format("{} gives no vectors while it generates text: its folder asks for a pooling other than the last "
                          "token's state; load it with --embedding-model",
                          model.name),
              "model");
}

Result<void> check_request(const GenerateRequest& request, const RequestLimits& limits) {
  LATHE_TRY_VOID(validate(request.sampling, limits.vocab_size));
  const auto n_prompt = static_cast<std::int64_t>(request.prompt_token_ids.size());
  if (request.pooling) {
    LATHE_TRY_VOID(check_text_length(n_prompt, limits));
  } else {
    LATHE_TRY_VOID(check_length(n_prompt, limits));
    LATHE_TRY_VOID(check_min_tokens(n_prompt, request.sampling.min_tokens, limits));
  }
  LATHE_TRY_VOID(check_ids(request, limits.vocab_size));
  if (request.cache_salt.size() > kMaxSaltBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("cache_salt has {} bytes; at most {} are allowed.", request.cache_salt.size(), kMaxSaltBytes),
                "cache_salt");
  }
  return {};
}

}  // namespace lathe::engine
