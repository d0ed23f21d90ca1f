// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions
#include "app/server/dialects/openai/chat_prompt.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/dialects/openai/submit.h"
#include "app/server/dialects/openai/tool_fields.h"

namespace lathe::app::openai {
namespace {

/// "logprobs" says whether, "top_logprobs" how many alternatives.
void read_chat_logprobs(FieldReader& body, AnswerPlan& plan) {
  plan.report_logprobs = body.flag("logprobs").value_or(false);
  const std::int64_t n_top = body.integer("top_logprobs").value_or(0);
  if (n_top != 0 && !plan.report_logprobs)
    body.refuse("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true");
  if (plan.report_logprobs) plan.fields.sampling.logprobs = n_top;
}

/// OpenRouter: {"reasoning": {"exclude": true}}.
bool excludes_reasoning(FieldReader& body) {
  const engine::Json* reasoning = body.object("reasoning");
  if (reasoning == nullptr) return false;
  FieldReader reader(*reasoning, "reasoning");
  const bool excludes = reader.flag("exclude").value_or(false);
  body.take_over(reader);
  return excludes;
}

/// How the answer is read: calls where the request brings tools, reasoning always.
void read_reading(FieldReader& body, const engine::Engine& engine, AnswerPlan& plan) {
  AnswerReading& reading = plan.reading;
  reading.formats = engine.model().answer_formats;
  if (!read_tool_choice(body, engine.model())) reading.formats.tool_calls.clear();
  if (const engine::Json* tools = body.any("tools")) reading.tools = *tools;
  reading.parallel_tool_calls = body.flag("parallel_tool_calls").value_or(true);
  reading.include_reasoning = body.flag("include_reasoning").value_or(!excludes_reasoning(body));
  if (engine::need_special_tokens(reading.formats, engine.tokenizer())) plan.fields.sampling.skip_special_tokens = false;
}

/// Enough for the markers that a prompt may end with.
std::string end_of(const std::vector<engine::TextSpan>& spans) {
  constexpr std::size_t kEndBytes = 256;
  std::string end;
  for (std::size_t i = spans.size(); i-- > 0 && end.size() < kEndBytes;) end.insert(0, spans[i].text);
  return end.size() > kEndBytes ? end.substr(end.size() - kEndBytes) : end;
}

}  // namespace

engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  FieldReader body = given.reader();
  LATHE_TRY_VOID(check_model(body, context.served_name(engine->model())));
  AnswerPlan plan = make_plan(context, engine->model(), read_common_fields(body, engine->model()), true);
  read_chat_logprobs(body, plan);
  refuse_unserved_fields(body, {"echo"});
  LATHE_TRY(engine::OrderedJson tools, read_tools(body, request.body));
  read_reading(body, *engine, plan);
  LATHE_TRY_VOID(body.verdict());

  LATHE_TRY(const std::vector<engine::TextSpan> spans, read_chat_prompt(body, std::move(tools), *engine));
  std::size_t n_bytes = 0;
  for (const engine::TextSpan& span : spans) n_bytes += span.text.size();
  plan.reading.prompt_end = end_of(spans);
  LATHE_TRY_VOID(check_text_size(n_bytes, *engine));
  LATHE_TRY(std::vector<std::int32_t> prompt, engine->tokenizer().encode_spans(spans));
  LATHE_TRY_VOID(fit_to_context(plan.fields, engine->model().default_max_tokens, prompt.size(), engine->model()));
  plan.prompts.push_back({std::move(prompt), {}, {}});
  warn_of_unread_fields(body);
  return submit(context, request, *engine, std::move(plan), body, given);
}

}  // namespace lathe::app::openai
