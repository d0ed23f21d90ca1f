// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions
#include "app/server/dialects/openai/chat_prompt.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/dialects/openai/submit.h"
#include "app/server/dialects/openai/tool_fields.h"

namespace lathe::app::openai {
namespace {

/// Reads "logprobs" (whether they are shown) and "top_logprobs" (number of alternatives).
void read_chat_logprobs(RequestFields& body, AnswerPlan& plan) {
  plan.report_logprobs = body.flag("logprobs").value_or(false);
  const std::int64_t n_top = body.integer("top_logprobs").value_or(0);
  if (n_top != 0 && !plan.report_logprobs)
    body.refuse("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true");
  if (plan.report_logprobs) plan.fields.sampling.logprobs = n_top;
}

/// Reads OpenRouter's {"reasoning": {"exclude": true}}.
bool excludes_reasoning(RequestFields& body) {
  const engine::Json* reasoning = body.object("reasoning");
  if (reasoning == nullptr) return false;
  RequestFields reader(*reasoning, "reasoning");
  const bool excludes = reader.flag("exclude").value_or(false);
  body.take_over(reader);
  return excludes;
}

/// Reads how the answer is parsed: for tool calls if the request has tools, for reasoning always.
engine::AnswerReading read_reading(RequestFields& body, const engine::LoadedModel& model, AnswerPlan& plan) {
  const bool has_tools = body.has("tools");
  engine::AnswerFormats formats = has_tools ? model.answer_formats_with_tools : model.answer_formats;
  if (!read_tool_choice(body, model)) formats.tool_calls.clear();
  engine::AnswerReading reading =
      engine::answer_reading(std::move(formats), has_tools ? model.answer_markers_with_tools : model.answer_markers);
  if (const engine::Json* tools = body.any("tools")) reading.tools = *tools;
  plan.reading.parallel_tool_calls = body.flag("parallel_tool_calls").value_or(true);
  plan.reading.include_reasoning = body.flag("include_reasoning").value_or(!excludes_reasoning(body));
  return reading;
}

}  // namespace

engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_model(body, context.served_name(engine->model())));
  AnswerPlan plan = make_plan(context, engine->model(), read_common_fields(body, engine->model()), true);
  read_chat_logprobs(body, plan);
  plan.fields.structured = read_structured_fields(body, request.body);
  refuse_unserved_fields(body, {"echo"});
  LATHE_TRY(engine::OrderedJson tools, read_tools(body, request.body));
  engine::AnswerReading reading = read_reading(body, engine->model(), plan);
  LATHE_TRY_VOID(body.verdict());

  LATHE_TRY(const std::vector<engine::TextSpan> spans, read_chat_prompt(body, std::move(tools), *engine));
  std::size_t n_bytes = 0;
  for (const engine::TextSpan& span : spans) n_bytes += span.text.size();
  reading.goes_on = body.flag("continue_final_message").value_or(false);
  reading.prompt = engine::prompt_end(spans, reading.goes_on);
  if (!reading.formats.empty()) plan.reading.answer = std::make_shared<const engine::AnswerReading>(std::move(reading));
  LATHE_TRY_VOID(check_text_size(n_bytes, *engine));
  LATHE_TRY(std::vector<std::int32_t> prompt, engine->tokenizer().encode_spans(spans));
  LATHE_TRY(const std::int64_t max_tokens,
            fit_to_context(plan.fields, engine->model().default_max_tokens, prompt.size(), engine->model()));
  plan.prompts.push_back({.ids = std::move(prompt), .text = {}, .offsets = {}, .max_tokens = max_tokens});
  warn_of_unread_fields(body);
  return submit(context, request, *engine, std::move(plan), body, given);
}

}  // namespace lathe::app::openai
