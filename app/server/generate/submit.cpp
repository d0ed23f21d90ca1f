// SPDX-License-Identifier: Apache-2.0
#include "app/server/generate/submit.h"

#include <chrono>

namespace lathe::app {

namespace {

/// Returns a salt that no request before the last reset of the prefix cache had.
std::string salt_of_epoch(std::uint64_t epoch, const std::string& salt) {
  return epoch == 0 ? salt : "\x1f" + std::to_string(epoch) + "\x1f" + salt;
}

}  // namespace

AnswerPlan make_plan(const ServerContext& context, const engine::LoadedModel& model, CommonFields fields,
                     std::string_view id_prefix) {
  using namespace std::chrono;
  AnswerPlan plan;
  plan.id = std::string(id_prefix) + context.ids.next();
  plan.created = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  plan.model = context.served_name(model);
  plan.loaded_model = model.name;
  plan.fields = std::move(fields);
  plan.fields.cache_salt = salt_of_epoch(context.cache_epoch, plan.fields.cache_salt);
  // A salt that no other request has finds no prefix of another request.
  if (!plan.fields.cache_prompt) plan.fields.cache_salt = "\x1f" + plan.id;
  plan.models = &context.models;
  plan.ids = &context.ids;
  return plan;
}

engine::Result<std::unique_ptr<GenerationSet>> submit_plan(const ServerContext& context, const http::Request& request,
                                                           engine::Engine& engine, AnswerPlan& plan,
                                                           const RequestFields& body, const RequestBody& given) {
  plan.warnings = all_warnings(context, body, given);
  if (plan.has_generic_tools) context.warned.write_generic_tools(context.log, plan.loaded_model);
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
  if (!set) return tl::unexpected(given.in_given_names(structured.in_given_names(set.error())));
  return set;
}

}  // namespace lathe::app
