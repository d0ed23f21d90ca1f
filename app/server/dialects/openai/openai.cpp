// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/openai/openai.h"

#include <array>

#include "app/log/printable.h"
#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/responses.h"
#include "app/server/error_status.h"
#include "app/server/escape.h"
#include "engine/api/json.h"

namespace lathe::app::openai {
namespace {

constexpr std::array kRoutes = {
    Route{"POST", "/v1/chat/completions", answer_chat},
    Route{"POST", "/v1/completions", answer_completions},
    Route{"GET", "/v1/models", answer_models},
    Route{"GET", "/v1/models/*", answer_model},
    Route{"POST", "/v1/responses", answer_responses},
    Route{"GET", "/v1/responses/*/input_items", answer_input_items},
    Route{"POST", "/v1/responses/*/cancel", answer_cancel_response},
    Route{"GET", "/v1/responses/*", answer_stored_response},
    Route{"DELETE", "/v1/responses/*", answer_delete_response},
    Route{"POST", "/v1/embeddings", answer_embeddings},
    Route{"POST", "/pooling", answer_pooling},
    Route{"POST", "/classify", answer_classify},
    Route{"POST", "/score", answer_score},
    Route{"POST", "/rerank", answer_rerank},
    Route{"POST", "/v2/rerank", answer_rerank},
    Route{"POST", "/tokenize", answer_tokenize},
    Route{"POST", "/detokenize", answer_detokenize},
    Route{"GET", "/tokenizer_info", answer_tokenizer_info},
    Route{"POST", "/reset_prefix_cache", answer_reset_prefix_cache},
    Route{"GET", "/health", answer_health, true},
    Route{"GET", "/version", answer_version, true},
    Route{"GET", "/metrics", answer_metrics},
};

std::string_view type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 429: return "rate_limit_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

/// Returns the codes that clients check; null for the rest.
engine::OrderedJson code_of(const engine::Error& error, int status) {
  if (status == 401) return "invalid_api_key";
  if (status == 404 && error.where == "model") return "model_not_found";
  if (status == 400 && error.where == "input_tokens") return "context_length_exceeded";
  if (status == 429) return "rate_limit_exceeded";
  return nullptr;
}

std::string command_of(const std::string& url, const std::string& model, const std::string& key,
                       const engine::OrderedJson& fields) {
  engine::OrderedJson body;
  if (!model.empty()) body["model"] = model;
  body.update(fields);
  std::string command = "curl " + url + " -H 'Content-Type: application/json'";
  if (!key.empty()) command += " -H " + shell_quoted("Authorization: Bearer " + key);
  return command + " -d " + shell_quoted(engine::dump_json(body));
}

std::string curl_command(const std::string& base_url, const std::string& model, const std::string& key) {
  const engine::OrderedJson messages = {{{"role", "user"}, {"content", "What is a KV cache?"}}};
  return command_of(base_url + "/chat/completions", model, key, {{"messages", messages}, {"max_tokens", 100}});
}

std::string vector_command(const std::string& base_url, const std::string& model, const std::string& key) {
  return command_of(base_url + "/embeddings", model, key, {{"input", "What is a KV cache?"}});
}

}  // namespace

std::string error_body(const engine::Error& error, int http_status) {
  engine::OrderedJson inner;
  inner["message"] = message_of(error);
  inner["type"] = type_of(http_status);
  inner["param"] = error.where.empty() ? engine::OrderedJson(nullptr) : engine::OrderedJson(printable(error.where, 200));
  inner["code"] = code_of(error, http_status);
  engine::OrderedJson body;
  body["error"] = std::move(inner);
  return engine::dump_json(body);
}

}  // namespace lathe::app::openai

namespace lathe::app {

extern constexpr Dialect kOpenaiDialect = {.name = "OpenAI",
                                           .base_path = "/v1",
                                           .routes = openai::kRoutes,
                                           .error_body = openai::error_body,
                                           .curl = openai::curl_command,
                                           .vector_curl = openai::vector_command};

}  // namespace lathe::app
