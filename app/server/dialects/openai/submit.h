// SPDX-License-Identifier: Apache-2.0
// Submits an AnswerPlan to the engine and makes the reply that returns its answers.
#pragma once

#include "app/server/dialect.h"
#include "app/server/dialects/openai/answer_plan.h"

namespace lathe::app::openai {

AnswerPlan make_plan(const ServerContext& context, const engine::LoadedModel& model, CommonFields fields, bool chat);

/// Requires: all fields of `body` are read. `given`: the body that it reads. Errors: those of Engine::submit, with the field
/// names of the request.
engine::Result<http::Reply> submit(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                   AnswerPlan plan, const RequestFields& body, const RequestBody& given);

}  // namespace lathe::app::openai
