// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/anthropic/anthropic.h"

#include <array>

#include "app/server/error_status.h"
#include "app/server/escape.h"
#include "engine/api/json.h"

namespace lathe::app::anthropic {
namespace {

constexpr std::array kRoutes = {
    Route{"POST", "/v1/messages", answer_messages},
    Route{"POST", "/v1/messages/count_tokens", answer_count_tokens},
};

std::string_view error_type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    case 504: return "timeout_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::string messages_command(const std::string& base_url, const std::string& model, const std::string& key) {
  engine::OrderedJson body;
  if (!model.empty()) body["model"] = model;
  body["max_tokens"] = 100;
  body["messages"] = {{{"role", "user"}, {"content", "What is a KV cache?"}}};
  std::string command = "curl " + base_url + "/v1/messages -H 'Content-Type: application/json'";
  if (!key.empty()) command += " -H " + shell_quoted("x-api-key: " + key);
  return command + " -d " + shell_quoted(engine::dump_json(body));
}

}  // namespace

std::string error_body(const engine::Error& error, int http_status) {
  engine::OrderedJson inner;
  inner["type"] = error_type_of(http_status);
  inner["message"] = message_of(error);
  engine::OrderedJson body;
  body["type"] = "error";
  body["error"] = std::move(inner);
  return engine::dump_json(body);
}

}  // namespace lathe::app::anthropic

namespace lathe::app {

extern constexpr Dialect kAnthropicDialect = {.name = "Anthropic",
                                              .base_path = "",
                                              .routes = anthropic::kRoutes,
                                              .error_body = anthropic::error_body,
                                              .curl = anthropic::messages_command,
                                              .request_id_field = "request-id"};

}  // namespace lathe::app
