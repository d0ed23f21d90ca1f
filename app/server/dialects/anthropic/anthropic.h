// SPDX-License-Identifier: Apache-2.0
// The Anthropic dialect: the Messages API, its routes one function each.
// Source: Anthropic's Messages API, version 2023-06-01, as the types of its Python package define it.
#pragma once

#include <span>

#include "app/server/dialect.h"

namespace lathe::app::anthropic {

engine::Result<http::Reply> answer_messages(const ServerContext& context, const http::Request& request);
engine::Result<http::Reply> answer_count_tokens(const ServerContext& context, const http::Request& request);

/// THE TABLE of the fields of a request: those of Anthropic, then known_fields().
std::span<const KnownField> request_fields();

/// Returns {"type": "error", "error": {"type", "message"}}.
std::string error_body(const engine::Error& error, int http_status);

}  // namespace lathe::app::anthropic
