// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/submit.h"

#include <chrono>

#include "app/server/dialects/openai/streamed_answer.h"
#include "app/server/dialects/openai/whole_answer.h"

namespace lathe::app::openai {

AnswerPlan make_plan(const ServerContext& context, const engine::LoadedModel& model, CommonFields fields, bool chat) {
  using namespace std::chrono;
  AnswerPlan plan;
  plan.chat = chat;
  plan.id = (chat ? "chatcmpl-" : "cmpl-") + context.ids.next();
  plan.created = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  plan.model = context.served_name(model);
  plan.loaded_model = model.name;
  plan.fields = std::move(fields);
  plan.models = &context.models;
  plan.ids = &context.ids;
  return plan;
}

engine::Result<http::Reply> submit(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                   AnswerPlan plan, const RequestFields& body, const RequestBody& given) {
  plan.warnings = all_warnings(context, body, given);
  // Selecting the best answers needs log probabilities, even if these are not shown.
  if (plan.fields.best_of > plan.fields.n && !plan.fields.sampling.logprobs) plan.fields.sampling.logprobs = 0;
  std::vector<engine::GenerateRequest> requests;
  for (const PromptPlan& prompt : plan.prompts) {
    append_requests(requests, plan.fields, plan.fields.best_of, prompt.ids, prompt.max_tokens);
  }
  for (engine::GenerateRequest& one : requests) {
    one.counts_output = !plan.prompt_only;
    one.reading = plan.reading.answer;
  }
  RequestRecord row = request_row(request);
  row.model = plan.model;
  const StructuredFields structured = plan.fields.structured;
  auto set = GenerationSet::submit(engine, context.requests, std::move(requests), row);
  if (!set) return tl::unexpected(structured.in_given_names(given.in_given_names(set.error())));
  if (plan.fields.stream) return http::Reply(std::make_unique<StreamedAnswer>(std::move(plan), std::move(*set)));
  return http::Reply(std::make_unique<WholeAnswer>(std::move(plan), std::move(*set)));
}

}  // namespace lathe::app::openai
