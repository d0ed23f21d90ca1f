// SPDX-License-Identifier: Apache-2.0
// POST /v1/responses
#include "app/server/dialects/openai/responses.h"

#include <algorithm>
#include <optional>

#include "app/server/dialects/openai/response_fields.h"
#include "app/server/dialects/openai/response_reply.h"
#include "app/server/generate/chat_plan.h"
#include "app/server/generate/submit.h"

namespace lathe::app::openai {
namespace {

using engine::ChatMessage;

/// Returns the conversation after the instructions. System messages at the beginning become one, as many templates know only
/// one.
std::vector<ChatMessage> with_instructions(const std::string& instructions, const std::vector<ChatMessage>& conversation) {
  std::vector<ChatMessage> messages;
  if (!instructions.empty()) messages.push_back({.role = "system", .content = instructions});
  for (const ChatMessage& message : conversation) {
    const bool joins = messages.size() == 1 && messages.front().role == "system" && message.role == "system";
    if (!joins) {
      messages.push_back(message);
      continue;
    }
    messages.front().parts.clear();
    messages.front().content += "\n\n" + message.content;
  }
  return messages;
}

/// Drops the oldest turn, which ends before the next message of a user; false if only the last is left.
bool drop_oldest_turn(std::vector<ChatMessage>& messages) {
  const auto first = std::find_if(messages.begin(), messages.end(), [](const ChatMessage& m) { return m.role != "system"; });
  if (first == messages.end()) return false;
  const auto next = std::find_if(first + 1, messages.end(), [](const ChatMessage& m) { return m.role == "user"; });
  if (next == messages.end()) return false;
  messages.erase(first, next);
  return true;
}

/// Plans the response; one that truncates drops turns until its prompt fits. `body` reads all fields once more for each try.
engine::Result<AnswerPlan> plan_response(const ServerContext& context, const engine::Engine& engine,
                                         const ReadResponse& read, std::optional<RequestFields>& body) {
  std::vector<ChatMessage> conversation = read.request.messages;
  for (;;) {
    body.emplace(read.given.reader());
    LATHE_TRY_VOID(check_model(*body, context, engine.model()));
    AnswerPlan plan = make_plan(context, engine.model(), read_common_fields(*body, engine.model()), "resp_");
    plan.fields.structured = read_structured_fields(*body, read.given);
    plan.report_logprobs = read.reports_logprobs;
    if (read.reports_logprobs) plan.fields.sampling.logprobs = read.request.n_top_logprobs;
    refuse_unserved_fields(*body, {}, response_fields());
    const auto messages = reader_of(with_instructions(read.instructions, conversation));
    const auto planned = plan_chat(*body, read.tools, messages, engine, plan);
    if (planned) return plan;
    const bool is_too_long = planned.error().where == "input_tokens";
    if (!read.truncates || !is_too_long || !drop_oldest_turn(conversation))
      return tl::unexpected(read.given.in_given_names(planned.error()));
  }
}

engine::Result<std::shared_ptr<ResponseRun>> start_run(const ServerContext& context, const http::Request& request,
                                                       ReadResponse read) {
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  std::optional<RequestFields> body;
  LATHE_TRY(AnswerPlan plan, plan_response(context, *engine, read, body));
  skip_translated_fields(*body);
  warn_of_unread_fields(*body, response_fields());
  LATHE_TRY(auto set, submit_plan(context, request, *engine, plan, *body, read.given));
  read.request.echo["temperature"] = plan.fields.sampling.temperature;
  read.request.echo["top_p"] = plan.fields.sampling.top_p;
  return std::make_shared<ResponseRun>(std::move(plan), std::move(set), std::move(read.request));
}

}  // namespace

engine::Result<http::Reply> answer_responses(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(ReadResponse read, read_response(context, request.body));
  LATHE_TRY(const std::shared_ptr<ResponseRun> run, start_run(context, request, std::move(read)));
  if (run->request().store) context.answers.put(run->id(), run);
  if (run->request().background) context.answers.run_in_background(run);
  if (run->request().stream) return http::Reply(std::make_unique<StreamedResponse>(run, 0, true));
  if (!run->request().background) return http::Reply(std::make_unique<WholeResponse>(run));
  return http::Response{200, "application/json", answer_fields(run->plan()), engine::dump_json(run->json())};
}

}  // namespace lathe::app::openai
