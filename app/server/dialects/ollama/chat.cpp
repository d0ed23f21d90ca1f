// SPDX-License-Identifier: Apache-2.0
// POST /api/chat and POST /api/generate
#include "app/server/dialects/ollama/answer.h"
#include "app/server/dialects/ollama/keep_alive.h"
#include "app/server/dialects/ollama/ollama.h"
#include "app/server/generate/chat_messages.h"
#include "app/server/generate/chat_plan.h"
#include "app/server/generate/infill.h"
#include "app/server/generate/submit.h"
#include "app/server/generate/tool_fields.h"
#include "engine/api/exact_json.h"

namespace lathe::app::ollama {
namespace {

using engine::Json;
using engine::OrderedJson;

/// Translates "json" or a schema in "format" to OpenAI's "response_format".
engine::Result<void> translate_format(RequestBody& given) {
  LATHE_TRY(OrderedJson format, given.ordered("format"));
  if (format.is_null() || format == "") return {};
  if (format == "json") {
    given.set("response_format", {{"type", "json_object"}}, "format");
    return {};
  }
  OrderedJson schema = {{"name", "output"}, {"schema", std::move(format)}};
  given.set_ordered("response_format", {{"type", "json_schema"}, {"json_schema", std::move(schema)}}, "format");
  given.name_inside("format.json_schema.schema", "format");
  return {};
}

/// Writes arguments of calls, which are objects, as the texts that OpenAI has. `ordered`: the body with its keys in their
/// order.
void translate_calls(Json& messages, const OrderedJson& ordered) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].is_object() || !messages[i].contains("tool_calls") || !messages[i]["tool_calls"].is_array()) continue;
    Json& calls = messages[i]["tool_calls"];
    for (std::size_t j = 0; j < calls.size(); ++j) {
      const Json::json_pointer path("/" + std::to_string(j) + "/function/arguments");
      if (!calls.contains(path) || !calls[path].is_object()) continue;
      calls[path] = engine::dump_exact_json(ordered["messages"][i]["tool_calls"][j]["function"]["arguments"]);
    }
  }
}

/// Reads a body and translates its fields to those that all dialects share.
engine::Result<RequestBody> read_body(std::string_view text) {
  LATHE_TRY(RequestBody given, RequestBody::read(text, request_fields()));
  const Json fields = given.fields();
  LATHE_TRY_VOID(translate_format(given));
  if (!fields.contains("stream")) given.set("stream", true, "stream");
  if (fields.contains("tools") && fields["tools"] == Json::array()) given.set("tools", nullptr, "tools");
  if (fields.contains("messages") && fields["messages"].is_array()) {
    LATHE_TRY(const OrderedJson ordered, engine::parse_exact_json(text, "body"));
    Json messages = fields["messages"];
    translate_calls(messages, ordered);
    given.set("messages", std::move(messages), "messages");
  }
  return given;
}

AnswerPlan read_plan(RequestFields& body, const RequestBody& given, const ServerContext& context,
                     const engine::LoadedModel& model) {
  AnswerPlan plan = make_plan(context, model, read_common_fields(body, model), "ollama-");
  plan.fields.structured = read_structured_fields(body, given);
  plan.report_logprobs = body.flag("logprobs").value_or(false);
  const std::int64_t n_top = read_top_logprobs(body);
  if (plan.report_logprobs) plan.fields.sampling.logprobs = n_top;
  else if (n_top != 0) body.refuse("top_logprobs", "needs \"logprobs\": true");
  for (const char* name : {"format", "name"}) body.has(name);
  refuse_unserved_fields(body, {}, request_fields());
  return plan;
}

engine::Result<http::Reply> start_answer(const ServerContext& context, const http::Request& request, engine::Engine& engine,
                                         AnswerPlan plan, RequestFields& body, const RequestBody& given, bool is_chat) {
  read_keep_alive(body);
  LATHE_TRY_VOID(body.verdict());
  warn_of_unread_fields(body, request_fields());
  LATHE_TRY(auto set, submit_plan(context, request, engine, plan, body, given));
  if (plan.fields.stream) return http::Reply(std::make_unique<ObjectStream>(std::move(plan), std::move(set), is_chat));
  return http::Reply(std::make_unique<WholeObject>(std::move(plan), std::move(set), is_chat));
}

/// Answers a request without messages or prompt. One with keep_alive 0 asks to unload the model, which stays loaded.
engine::Result<http::Reply> loaded(const ServerContext& context, const AnswerPlan& plan, RequestFields& body,
                                   const RequestBody& given, bool is_chat) {
  const bool unloads = read_keep_alive(body);
  LATHE_TRY_VOID(body.verdict());
  warn_of_unread_fields(body, request_fields());
  const std::vector<FieldWarning> warnings = all_warnings(context, body, given);
  OrderedJson object = loaded_object(plan.model, is_chat, unloads);
  if (!warnings.empty()) object[kWarningsMember] = warnings_json(warnings);
  const std::string type = plan.fields.stream ? "application/x-ndjson" : "application/json";
  return http::Response{200, type, warning_fields(warnings), engine::dump_json(object) + (plan.fields.stream ? "\n" : "")};
}

/// Plans the answer to a prompt that is not rendered by the template: a raw one, or a text with a suffix.
engine::Result<void> plan_text(const std::string& prompt, const std::optional<std::string>& suffix,
                               const engine::Engine& engine, AnswerPlan& plan) {
  LATHE_TRY_VOID(check_text_size(prompt.size() + suffix.value_or("").size(), engine));
  const engine::Tokenizer& tokenizer = engine.tokenizer();
  LATHE_TRY(std::vector<std::int32_t> ids,
            suffix ? encode_infill(tokenizer, prompt, *suffix, true) : tokenizer.encode(prompt, true, true));
  LATHE_TRY(const std::int64_t max_tokens,
            fit_to_context(plan.fields, engine.model().default_max_tokens, ids.size(), engine.model()));
  plan.prompts.push_back({.ids = std::move(ids), .text = {}, .offsets = {}, .max_tokens = max_tokens});
  return {};
}

}  // namespace

/// A request without messages only asks for the model to be loaded or unloaded.
engine::Result<http::Reply> answer_chat(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, read_body(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_tagged_model(body, context, engine->model()));
  AnswerPlan plan = read_plan(body, given, context, engine->model());
  const Json* messages = body.any("messages");
  if (messages == nullptr || *messages == Json::array()) return loaded(context, plan, body, given, true);
  LATHE_TRY(OrderedJson tools, read_tools(body, request.body));
  LATHE_TRY_VOID(plan_chat(body, std::move(tools), read_messages_field, *engine, plan));
  return start_answer(context, request, *engine, std::move(plan), body, given, true);
}

/// A prompt is the message of a user, after "system" as the system message; a raw one is the whole text.
engine::Result<http::Reply> answer_generate(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, read_body(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_tagged_model(body, context, engine->model()));
  AnswerPlan plan = read_plan(body, given, context, engine->model());
  const std::string prompt = body.text("prompt").value_or("");
  const std::string system = body.text("system").value_or("");
  std::optional<std::string> suffix = body.text("suffix");
  if (suffix && suffix->empty()) suffix.reset();
  const bool raw = body.flag("raw").value_or(false);
  LATHE_TRY_VOID(body.verdict());
  if (prompt.empty() && !suffix) return loaded(context, plan, body, given, false);
  if (raw || suffix || engine->chat_template() == nullptr) {
    if (!system.empty())
      body.refuse("system", "has no effect on a raw prompt, on one with a suffix, and without a template");
    LATHE_TRY_VOID(body.verdict());
    LATHE_TRY_VOID(plan_text(prompt, suffix, *engine, plan));
  } else {
    std::vector<engine::ChatMessage> messages;
    if (!system.empty()) messages.push_back({.role = "system", .content = system});
    messages.push_back({.role = "user", .content = prompt});
    LATHE_TRY_VOID(plan_chat(body, nullptr, reader_of(std::move(messages)), *engine, plan));
  }
  return start_answer(context, request, *engine, std::move(plan), body, given, false);
}

}  // namespace lathe::app::ollama
