// SPDX-License-Identifier: Apache-2.0
// POST /v1/messages and POST /v1/messages/count_tokens
#include "app/log/printable.h"
#include "app/server/dialects/anthropic/anthropic.h"
#include "app/server/dialects/anthropic/message_answer.h"
#include "app/server/dialects/anthropic/message_blocks.h"
#include "app/server/generate/chat_plan.h"
#include "app/server/generate/flat_tools.h"
#include "app/server/generate/submit.h"
#include "engine/api/exact_json.h"

namespace lathe::app::anthropic {
namespace {

using engine::Json;
using engine::OrderedJson;

constexpr FlatToolForm kToolForm = {.type = "custom", .type_is_optional = true, .schema = "input_schema"};

/// A request in the terms that all dialects share.
struct MessagesRequest {
  RequestBody given;
  std::vector<engine::ChatMessage> messages;
  OrderedJson tools;
};

/// Translates "tool_choice" to OpenAI's form.
void translate_tool_choice(RequestFields& reader, RequestBody& given) {
  const Json* choice = reader.object("tool_choice");
  if (choice == nullptr) return;
  RequestFields inner(*choice, "tool_choice");
  const std::string type = inner.text("type").value_or("");
  const std::string name = inner.text("name").value_or("");
  if (inner.flag("disable_parallel_tool_use").value_or(false))
    given.set("parallel_tool_calls", false, "tool_choice.disable_parallel_tool_use");
  Json translated;
  if (type == "auto" || type == "none") translated = type;
  else if (type == "any") translated = "required";
  else if (type == "tool" && !name.empty()) translated = {{"type", "function"}, {"function", {{"name", name}}}};
  else if (type == "tool") inner.refuse("name", "is missing or empty");
  else inner.refuse("type", "must be \"auto\", \"any\", \"tool\" or \"none\", got \"" + printable(type, 40) + "\"");
  reader.take_over(inner);
  if (!reader.failed()) given.set("tool_choice", std::move(translated), "tool_choice");
  given.name_inside("tool_choice.function.name", "tool_choice.name");
}

/// Translates {"type": "json_schema", "schema"} to OpenAI's "response_format". `ordered`: the same with its keys in their
/// order.
void translate_format(const Json& format, const OrderedJson& ordered, const std::string& path, RequestFields& reader,
                      RequestBody& given) {
  RequestFields one(format, path);
  if (one.text("type").value_or("") != "json_schema") one.refuse("type", "must be \"json_schema\"");
  const Json* schema = one.object("schema");
  if (schema == nullptr) one.refuse("schema", "is missing");
  warn_of_unread_fields(one, {});
  reader.take_over(one);
  if (schema == nullptr) return;
  OrderedJson named = {{"name", "output"}, {"schema", ordered["schema"]}, {"strict", true}};
  given.set_ordered("response_format", {{"type", "json_schema"}, {"json_schema", std::move(named)}}, path);
  given.name_inside(path + ".json_schema.schema", path + ".schema");
}

/// Translates {"effort", "format"} and "output_format", the older name of the format.
void translate_output_config(RequestFields& reader, const OrderedJson& ordered, RequestBody& given) {
  const Json* older = reader.object("output_format");
  if (older != nullptr) translate_format(*older, ordered["output_format"], "output_format", reader, given);
  const Json* config = reader.object("output_config");
  if (config == nullptr) return;
  RequestFields inner(*config, "output_config");
  if (const auto effort = inner.text("effort")) given.set("reasoning_effort", *effort, "output_config.effort");
  if (const Json* format = inner.object("format")) {
    if (older != nullptr && *older != *format) {
      inner.refuse("format", "and output_format are the same field and have different values; send one of them");
    }
    translate_format(*format, ordered["output_config"]["format"], "output_config.format", inner, given);
  }
  warn_of_unread_fields(inner);
  reader.take_over(inner);
}

/// True if the answer goes on with the last message, which its author has begun.
bool is_prefilled(const std::vector<engine::ChatMessage>& messages) {
  const engine::ChatMessage& last = messages.back();
  return last.role == "assistant" && last.tool_calls.empty() && !last.content.empty();
}

engine::Result<MessagesRequest> read_request(std::string_view text) {
  MessagesRequest request;
  LATHE_TRY(request.given, RequestBody::read(text, request_fields()));
  LATHE_TRY(const OrderedJson ordered, engine::parse_ordered_json(text, "body"));
  LATHE_TRY(const OrderedJson exact, engine::parse_exact_json(text, "body"));
  const RequestBody original = request.given;
  RequestFields reader = original.reader();
  request.tools = nest_tools(reader, exact, kToolForm);
  translate_tool_choice(reader, request.given);
  translate_output_config(reader, ordered, request.given);
  LATHE_TRY_VOID(reader.verdict());
  request.given.set("tools", Json(engine::rounded_json(request.tools)), "tools");
  name_flat_tools(request.given, original.fields(), kToolForm);
  LATHE_TRY(request.messages, read_message_blocks(reader, exact));
  if (is_prefilled(request.messages)) request.given.set("continue_final_message", true, "messages");
  request.given.warn(reader.warnings());
  return request;
}

/// Marks the fields as read that were translated.
void skip_translated(const RequestFields& body) {
  for (const char* name : {"messages", "system", "output_config", "output_format"}) body.has(name);
}

}  // namespace

engine::Result<http::Reply> answer_messages(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const MessagesRequest read, read_request(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = read.given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  AnswerPlan plan = make_plan(context, engine->model(), read_common_fields(body, engine->model()), "msg_");
  plan.fields.structured = read_structured_fields(body, read.given);
  refuse_unserved_fields(body, {}, request_fields());
  const auto planned = plan_chat(body, read.tools, reader_of(read.messages), *engine, plan);
  if (!planned) return tl::unexpected(read.given.in_given_names(planned.error()));
  skip_translated(body);
  warn_of_unread_fields(body, request_fields());
  LATHE_TRY(auto set, submit_plan(context, request, *engine, plan, body, read.given));
  if (plan.fields.stream) return http::Reply(std::make_unique<StreamedMessage>(std::move(plan), std::move(set)));
  return http::Reply(std::make_unique<WholeMessage>(std::move(plan), std::move(set)));
}

/// Counts the tokens of the prompt, which need not fit into the context.
engine::Result<http::Reply> answer_count_tokens(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const MessagesRequest read, read_request(request.body));
  LATHE_TRY(const EngineLease engine, lease_generator(context));
  RequestFields body = read.given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  LATHE_TRY(const std::vector<engine::TextSpan> spans,
            read_chat_prompt(body, read.tools, reader_of(read.messages), *engine));
  LATHE_TRY(const std::vector<std::int32_t> ids, engine->tokenizer().encode_spans(spans));
  const OrderedJson answer = {{"input_tokens", ids.size()}};
  return http::Response{200, "application/json", {}, engine::dump_json(answer)};
}

}  // namespace lathe::app::anthropic
