// SPDX-License-Identifier: Apache-2.0
// The Responses API: its routes, one function each.
// Source: OpenAI's openapi.yaml; the types of its Python package.
#pragma once

#include "app/server/dialect.h"

namespace lathe::app::openai {

engine::Result<http::Reply> answer_responses(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_stored_response(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_input_items(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_cancel_response(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_delete_response(const ServerContext& context, const http::Request& request);

}  // namespace lathe::app::openai
