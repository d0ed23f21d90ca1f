// SPDX-License-Identifier: Apache-2.0
// POST /v1/completions
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "app/server/dialects/openai/openai.h"
#include "app/server/dialects/openai/reply.h"
#include "app/server/generate/infill.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::Json;

constexpr std::int64_t kDefaultMaxTokens = 16;  // default of OpenAI and vLLM
constexpr std::size_t kMaxPrompts = 128;

/// Reads a prompt: a text, its token ids, or a list of either.
class PromptReader {
 public:
  PromptReader(const engine::Engine& engine, bool add_special, std::optional<std::string> suffix)
      : engine_(engine), tokenizer_(engine.tokenizer()), add_special_(add_special), suffix_(std::move(suffix)) {}

  engine::Result<std::vector<PromptPlan>> read(const Json* prompt) const {
    const auto refuse = [](std::string message) {
      return engine::fail(ErrorCode::invalid_argument, std::move(message), "prompt");
    };
    if (prompt == nullptr) return refuse("is missing");
    std::vector<PromptPlan> prompts;
    if (!prompt->is_array() || (!prompt->empty() && prompt->front().is_number())) {
      LATHE_TRY(PromptPlan one, read_one(*prompt, "prompt"));
      prompts.push_back(std::move(one));
      return prompts;
    }
    if (prompt->empty()) return refuse("must not be an empty list");
    if (prompt->size() > kMaxPrompts) {
      return refuse(fmt::format("may hold at most {} prompts, got {}", kMaxPrompts, prompt->size()));
    }
    for (const Json& item : *prompt) {
      LATHE_TRY(PromptPlan one, read_one(item, fmt::format("prompt[{}]", prompts.size())));
      prompts.push_back(std::move(one));
    }
    return prompts;
  }

 private:
  engine::Result<PromptPlan> read_one(const Json& prompt, const std::string& path) const {
    PromptPlan plan;
    if (prompt.is_string()) {
      plan.text = prompt.get<std::string>();
      LATHE_TRY_VOID(check_text_size(plan.text.size() + suffix_.value_or("").size(), engine_));
      // The caller writes the whole prompt, so control tokens in its text are encoded as such, as in vLLM.
      LATHE_TRY(plan.ids, suffix_ ? encode_infill(tokenizer_, plan.text, *suffix_, add_special_)
                                  : tokenizer_.encode(plan.text, add_special_, true));
    } else if (prompt.is_array()) {
      if (suffix_) return engine::fail(ErrorCode::invalid_argument, "needs a prompt that is a text", "suffix");
      LATHE_TRY(plan.ids, read_ids(prompt, path));
      LATHE_TRY_VOID(check_ids(plan.ids, path, tokenizer_));
      plan.text = tokenizer_.decode(plan.ids, false);
    } else {
      return engine::fail(ErrorCode::invalid_argument, "must be a string, a list of token IDs, or a list of either", path);
    }
    if (plan.ids.empty()) return engine::fail(ErrorCode::invalid_argument, "the prompt is empty", path);
    return plan;
  }

  const engine::Engine& engine_;
  const engine::Tokenizer& tokenizer_;
  bool add_special_;
  std::optional<std::string> suffix_;
};

/// Reads "echo" and "logprobs". Echo returns the prompt too; with logprobs also the prompt's log probabilities.
void read_echo_and_logprobs(RequestFields& body, AnswerPlan& plan) {
  CommonFields& fields = plan.fields;
  fields.echo = body.flag("echo").value_or(false);
  if (const auto logprobs = body.integer("logprobs")) {
    plan.report_logprobs = true;
    fields.sampling.logprobs = logprobs;
    if (fields.echo && !fields.sampling.prompt_logprobs) fields.sampling.prompt_logprobs = logprobs;
  }
  if (fields.echo && fields.max_tokens == 0) {
    plan.prompt_only = true;
    fields.max_tokens = 1;
  }
}

}  // namespace

engine::Result<http::Reply> answer_completions(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  AnswerPlan plan = make_plan(context, engine->model(), read_common_fields(body, engine->model()), "cmpl-");
  read_echo_and_logprobs(body, plan);
  plan.fields.structured = read_structured_fields(body, given);
  refuse_unserved_fields(body, {"tools"});
  const bool add_special = body.flag("add_special_tokens").value_or(true);
  std::optional<std::string> suffix = body.text("suffix");
  if (suffix && suffix->empty()) suffix.reset();
  if (suffix && plan.fields.echo) body.refuse("echo", "cannot be combined with a suffix");
  const Json* prompt = body.any("prompt");
  warn_of_unread_fields(body);
  LATHE_TRY_VOID(body.verdict());

  const PromptReader reader(*engine, add_special, std::move(suffix));
  LATHE_TRY(plan.prompts, reader.read(prompt));
  if (plan.fields.echo && plan.report_logprobs) {
    for (PromptPlan& one : plan.prompts) one.offsets = token_offsets(engine->tokenizer(), one.ids, one.text);
  }
  if (static_cast<std::int64_t>(plan.prompts.size()) * plan.fields.best_of > static_cast<std::int64_t>(kMaxPrompts)) {
    return engine::fail(ErrorCode::invalid_argument,
                        "the number of prompts times best_of may be at most " + std::to_string(kMaxPrompts), "n");
  }
  const std::optional<std::int64_t> fallback =
      given.fields().contains("max_tokens") ? std::nullopt : std::optional(kDefaultMaxTokens);
  for (PromptPlan& one : plan.prompts) {
    LATHE_TRY(one.max_tokens, fit_to_context(plan.fields, fallback, one.ids.size(), engine->model()));
  }
  return submit(context, request, *engine, std::move(plan), body, given);
}

}  // namespace lathe::app::openai
