// SPDX-License-Identifier: Apache-2.0
// The OpenAI dialect with vLLM's extensions: its routes, one function each.
// Source: OpenAI's openapi.yaml; vLLM's OpenAI-compatible server.
#pragma once

#include "app/server/dialect.h"

namespace lathe::app::openai {

engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_completions(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_models(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_model(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_tokenize(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_detokenize(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_tokenizer_info(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_reset_prefix_cache(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_health(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_version(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_metrics(const ServerContext& context, const http::Request& request);

/// Returns {"error": {"message", "type", "param", "code"}}.
std::string error_body(const engine::Error& error, int http_status);

}  // namespace lathe::app::openai
