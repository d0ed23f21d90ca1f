// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions
#include "app/server/dialects/openai/openai.h"
#include "app/server/dialects/openai/reply.h"
#include "app/server/generate/chat_messages.h"
#include "app/server/generate/chat_plan.h"
#include "app/server/generate/tool_fields.h"

namespace lathe::app::openai {
namespace {

/// Reads "logprobs" (whether they are shown) and "top_logprobs" (number of alternatives).
void read_chat_logprobs(RequestFields& body, AnswerPlan& plan) {
  plan.report_logprobs = body.flag("logprobs").value_or(false);
  const std::int64_t n_top = read_top_logprobs(body);
  if (n_top != 0 && !plan.report_logprobs)
    body.refuse("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true");
  if (plan.report_logprobs) plan.fields.sampling.logprobs = n_top;
}

}  // namespace

engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  AnswerPlan plan = make_plan(context, engine->model(), read_common_fields(body, engine->model()), "chatcmpl-");
  read_chat_logprobs(body, plan);
  plan.fields.structured = read_structured_fields(body, given);
  refuse_unserved_fields(body, {"echo", "suffix"});
  LATHE_TRY(engine::OrderedJson tools, read_tools(body, request.body));
  LATHE_TRY_VOID(plan_chat(body, std::move(tools), read_messages_field, *engine, plan));
  warn_of_unread_fields(body);
  return submit(context, request, *engine, std::move(plan), body, given);
}

}  // namespace lathe::app::openai
