// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/reply.h"

#include "app/server/dialects/openai/streamed_answer.h"
#include "app/server/dialects/openai/whole_answer.h"

namespace lathe::app::openai {

engine::Result<http::Reply> submit(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                   AnswerPlan plan, const RequestFields& body, const RequestBody& given) {
  LATHE_TRY(auto set, submit_plan(context, request, engine, plan, body, given));
  if (plan.fields.stream) return http::Reply(std::make_unique<StreamedAnswer>(std::move(plan), std::move(set)));
  return http::Reply(std::make_unique<WholeAnswer>(std::move(plan), std::move(set)));
}

}  // namespace lathe::app::openai
