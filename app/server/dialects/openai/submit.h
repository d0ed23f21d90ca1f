// SPDX-License-Identifier: Apache-2.0
// From a plan to running engine requests and the reply that follows them.
#pragma once

#include "app/server/dialect.h"
#include "app/server/dialects/openai/answer_plan.h"

namespace lathe::app::openai {

AnswerPlan make_plan(const ServerContext& context, const engine::LoadedModel& model, CommonFields fields, bool chat);

/// `body`: read to its end, with its warnings. `given`: what it reads. Errors: those of Engine::submit, in the request's
/// names.
engine::Result<http::Reply> submit(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                   AnswerPlan plan, const RequestFields& body, const RequestBody& given);

}  // namespace lathe::app::openai
