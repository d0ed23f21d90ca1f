// SPDX-License-Identifier: Apache-2.0
#include "app/server/dialects/ollama/ollama.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <ctime>
#include <vector>

#include "app/server/error_status.h"
#include "app/server/escape.h"
#include "app/server/generate/common_fields.h"
#include "engine/api/json.h"

namespace lathe::app::ollama {
namespace {

using enum FieldFate;

constexpr std::array kRoutes = {
    Route{"POST", "/api/chat", answer_chat},   Route{"POST", "/api/generate", answer_generate},
    Route{"POST", "/api/embed", answer_embed}, Route{"POST", "/api/embeddings", answer_embeddings},
    Route{"GET", "/api/tags", answer_tags},    Route{"GET", "/api/ps", answer_ps},
    Route{"POST", "/api/show", answer_show},   Route{"GET", "/api/version", answer_version, true},
    Route{"GET", "/", answer_root, true},
};

// Fields of Ollama, and fields of other servers that its answers have no member for.
constexpr KnownField kOllamaFields[] = {
    {.name = "name", .fate = served},
    {.name = "system", .fate = served},
    {.name = "format", .fate = served},
    {.name = "suffix", .fate = served},
    {.name = "raw", .fate = served},
    {.name = "verbose", .fate = served},
    {.name = "echo", .fate = refused},
    {.name = "n", .fate = refused, .neutral = "1"},
    {.name = "best_of", .fate = refused, .neutral = "1"},
    {.name = "prompt_logprobs", .fate = refused},
    {.name = "return_token_ids", .fate = refused},
    {.name = "return_tokens_as_token_ids", .fate = refused},
    {.name = "width", .fate = refused},
    {.name = "height", .fate = refused},
    {.name = "steps", .fate = refused},
    // False is obeyed: a prompt that does not fit is refused, and an answer ends with the context. True is the default.
    {.name = "truncate", .fate = warned, .neutral = "true false"},
    {.name = "shift", .fate = warned, .neutral = "true false"},
    {.name = "keep_alive", .fate = served},
};

/// Returns a curl command that posts `fields`, after the name of the model, to a route.
std::string command_of(const std::string& url, const std::string& model, const std::string& key,
                       const engine::OrderedJson& fields) {
  engine::OrderedJson body;
  if (!model.empty()) body["model"] = model;
  body.update(fields);
  std::string command = "curl " + url + " -H 'Content-Type: application/json'";
  if (!key.empty()) command += " -H " + shell_quoted("Authorization: Bearer " + key);
  return command + " -d " + shell_quoted(engine::dump_json(body));
}

std::string chat_command(const std::string& base_url, const std::string& model, const std::string& key) {
  const engine::OrderedJson message = {{"role", "user"}, {"content", "What is a KV cache?"}};
  return command_of(base_url + "/api/chat", model, key, {{"messages", engine::OrderedJson::array({message})}});
}

std::string embed_command(const std::string& base_url, const std::string& model, const std::string& key) {
  return command_of(base_url + "/api/embed", model, key, {{"input", "What is a KV cache?"}});
}

}  // namespace

std::span<const KnownField> request_fields() {
  static const std::vector<KnownField> fields = dialect_fields(kOllamaFields);
  return fields;
}

engine::Result<void> check_tagged_model(RequestFields& body, const ServerContext& context,
                                        const engine::LoadedModel& model) {
  const std::string name = body.text("model").value_or("");
  if (name.ends_with(kTag) && context.check_model_name(name.substr(0, name.size() - kTag.size()), model)) return {};
  return check_model(body, context, model);
}

std::string time_text(std::int64_t unix_us) {
  const std::time_t seconds = unix_us / 1'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", fmt::gmtime(seconds), unix_us % 1'000'000);
}

std::int64_t now_us() {
  using namespace std::chrono;
  return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
}

std::string error_body(const engine::Error& error, int) {
  return engine::dump_json(engine::OrderedJson{{"error", message_of(error)}});
}

}  // namespace lathe::app::ollama

namespace lathe::app {

extern constexpr Dialect kOllamaDialect = {.name = "Ollama",
                                           .base_path = "",
                                           .routes = ollama::kRoutes,
                                           .error_body = ollama::error_body,
                                           .curl = ollama::chat_command,
                                           .vector_curl = ollama::embed_command,
                                           .path_prefix = "/api/",
                                           .any_media_type = true};

}  // namespace lathe::app
