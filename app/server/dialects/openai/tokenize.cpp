// SPDX-License-Identifier: Apache-2.0
// POST /tokenize, POST /detokenize and GET /tokenizer_info, in vLLM's shapes.
#include "app/server/dialects/openai/openai.h"
#include "app/server/generate/chat_messages.h"
#include "app/server/generate/chat_prompt.h"
#include "app/server/generate/common_fields.h"
#include "app/server/generate/tool_fields.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::OrderedJson;

constexpr std::size_t kMaxIds = 1'000'000;

engine::Result<std::vector<std::int32_t>> read_prompt(RequestFields& body, std::string_view text,
                                                      const engine::Engine& engine) {
  if (body.has("messages")) {
    LATHE_TRY(OrderedJson tools, read_tools(body, text));
    LATHE_TRY(const std::vector<engine::TextSpan> spans,
              read_chat_prompt(body, std::move(tools), read_messages_field, engine));
    return engine.tokenizer().encode_spans(spans);
  }
  const auto prompt = body.text("prompt");
  const bool add_special = body.flag("add_special_tokens").value_or(true);
  LATHE_TRY_VOID(body.verdict());
  if (!prompt) return engine::fail(ErrorCode::invalid_argument, "either prompt or messages must be given", "prompt");
  return engine.tokenizer().encode(*prompt, add_special, true);
}

http::Reply answered(OrderedJson answer, const std::vector<FieldWarning>& warnings) {
  if (!warnings.empty()) answer[kWarningsMember] = warnings_json(warnings);
  return http::Response{200, "application/json", warning_fields(warnings), engine::dump_json(answer)};
}

}  // namespace

engine::Result<http::Reply> answer_tokenize(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  const bool with_texts = body.flag("return_token_strs").value_or(false);
  refuse_unserved_fields(body, {});
  LATHE_TRY_VOID(body.verdict());
  LATHE_TRY(const std::vector<std::int32_t> ids, read_prompt(body, request.body, *engine));
  warn_of_unknown_fields(body);
  const std::vector<FieldWarning> warnings = all_warnings(context, body, given);
  OrderedJson answer;
  answer["count"] = ids.size();
  answer["max_model_len"] = engine->model().max_model_len;
  answer["tokens"] = ids;
  answer["token_strs"] = nullptr;
  if (with_texts) {
    OrderedJson texts = OrderedJson::array();
    for (const std::int32_t id : ids) texts.push_back(engine->tokenizer().piece(id));
    answer["token_strs"] = std::move(texts);
  }
  return answered(std::move(answer), warnings);
}

/// Returns the members of a tokenizer_config.json that clients with a remote tokenizer read.
engine::Result<http::Reply> answer_tokenizer_info(const ServerContext& context, const http::Request&) {
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  const engine::Tokenizer& tokenizer = engine->tokenizer();
  const auto piece = [&](std::optional<std::int32_t> id) {
    return id ? OrderedJson(tokenizer.piece(*id)) : OrderedJson(nullptr);
  };
  const std::vector<std::int32_t>& eos_ids = tokenizer.eos_ids();
  const auto eos = eos_ids.empty() ? std::nullopt : std::optional(eos_ids.front());
  OrderedJson info;
  info["tokenizer_class"] = tokenizer.kind();
  info["model_max_length"] = engine->model().max_model_len;
  info["vocab_size"] = tokenizer.vocab_size();
  info["add_bos_token"] = tokenizer.adds_bos();
  info["bos_token"] = piece(tokenizer.bos_id());
  info["eos_token"] = piece(eos);
  info["bos_token_id"] = tokenizer.bos_id() ? OrderedJson(*tokenizer.bos_id()) : OrderedJson(nullptr);
  info["eos_token_id"] = eos ? OrderedJson(*eos) : OrderedJson(nullptr);
  info["chat_template"] =
      engine->chat_template() == nullptr ? OrderedJson(nullptr) : OrderedJson(engine->chat_template()->source(false));
  return answered(std::move(info), {});
}

engine::Result<http::Reply> answer_detokenize(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_model(body, context, engine->model()));
  if (!body.has("tokens")) body.refuse("tokens", "is missing");
  const std::vector<std::int32_t> ids = body.ids("tokens", kMaxIds);
  LATHE_TRY_VOID(body.verdict());
  LATHE_TRY_VOID(check_ids(ids, "tokens", engine->tokenizer()));
  warn_of_unknown_fields(body);
  OrderedJson answer;
  answer["prompt"] = engine->tokenizer().decode(ids, false);
  return answered(std::move(answer), all_warnings(context, body, given));
}

}  // namespace lathe::app::openai
