// SPDX-License-Identifier: Apache-2.0
// Makes an AnswerPlan and submits it to the engine.
#pragma once

#include <memory>
#include <string_view>

#include "app/server/dialect.h"
#include "app/server/generate/answer_plan.h"
#include "app/server/generate/generation_set.h"

namespace lathe::app {

/// Returns a plan without prompts. `id_prefix`: beginning of the answer's id, "chatcmpl-".
AnswerPlan make_plan(const ServerContext& context, const engine::LoadedModel& model, CommonFields fields,
                     std::string_view id_prefix);

/// Submits all choices of the plan, and sets the plan's warnings. Requires: all fields of `body` are read. `given`: the body
/// that it reads. Errors: those of Engine::submit, with the field names of the request.
engine::Result<std::unique_ptr<GenerationSet>> submit_plan(const ServerContext& context, const http::Request& request,
                                                           engine::Engine& engine, AnswerPlan& plan,
                                                           const RequestFields& body, const RequestBody& given);

}  // namespace lathe::app
