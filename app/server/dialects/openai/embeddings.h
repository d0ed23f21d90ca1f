// SPDX-License-Identifier: Apache-2.0
// Routes for vectors, scores and ranks, one function each.
// Source: OpenAI's openapi.yaml; vLLM's OpenAI-compatible server; the rerank routes of Jina and Cohere.
#pragma once

#include <string_view>

#include "app/server/dialect.h"
#include "engine/api/json.h"

namespace lathe::app::openai {

engine::Result<http::Reply> answer_embeddings(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_pooling(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_score(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_rerank(const ServerContext& context, const http::Request& request);

engine::Result<http::Reply> answer_classify(const ServerContext& context, const http::Request& request);

/// Returns the members that begin each answer: id, object, created, model.
engine::OrderedJson answer_head(const ServerContext& context, engine::Engine& engine, std::string_view id_prefix);

}  // namespace lathe::app::openai
