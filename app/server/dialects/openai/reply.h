// SPDX-License-Identifier: Apache-2.0
// Submits an AnswerPlan and makes the reply that returns its answers.
#pragma once

#include "app/server/generate/submit.h"

namespace lathe::app::openai {

/// Requires and errors: as submit_plan().
engine::Result<http::Reply> submit(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                   AnswerPlan plan, const RequestFields& body, const RequestBody& given);

}  // namespace lathe::app::openai
