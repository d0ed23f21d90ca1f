// SPDX-License-Identifier: Apache-2.0
// The Ollama dialect: its routes, one function each.
// Source: ollama, docs/api.md and api/types.go; the types of its Python package.
#pragma once

#include <span>
#include <string>

#include "app/server/dialect.h"

namespace lathe::app::ollama {

engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_generate(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_embed(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_embeddings(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_tags(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_ps(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_show(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_version(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_root(const ServerContext& context, const http::Request& request);

/// THE TABLE of the fields of a request: those of Ollama, then known_fields().
std::span<const KnownField> request_fields();

/// Checks that the request names the served model, with or without the tag ":latest", which clients add. Errors: not_found.
engine::Result<void> check_tagged_model(RequestFields& body, const ServerContext& context, const engine::LoadedModel& model);

/// Returns the time as RFC 3339 writes it: "2025-11-28T09:15:06.123456Z".
std::string time_text(std::int64_t unix_us);
std::int64_t now_us();

/// Returns {"error": "..."}.
std::string error_body(const engine::Error& error, int http_status);

}  // namespace lathe::app::ollama
