// SPDX-License-Identifier: Apache-2.0
// POST /api/embed and POST /api/embeddings
#include <fmt/format.h>

#include "app/server/dialects/ollama/ollama.h"
#include "app/server/embed/vector_json.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::ollama {
namespace {

using engine::OrderedJson;

constexpr std::string_view kTag = ":latest";

/// Returns a reader of the fields that both routes have. Texts that are too long are cut, unless "truncate" is false.
TextRules read_rules(RequestFields& body, const engine::LoadedModel& model) {
  return {.most_tokens = body.flag("truncate").value_or(true) ? model.max_model_len : 0};
}

std::string vectors_text(const VectorSet& set) {
  std::string text = "[";
  for (std::size_t i = 0; i < set.vectors().size(); ++i) text += (i == 0 ? "" : ",") + number_list(set.vectors()[i]);
  return text + "]";
}

}  // namespace

/// Vectors have length 1, as in Ollama.
engine::Result<http::Reply> answer_embed(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  engine::Engine& embedder = engine->embedder();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine, kTag));
  engine::PoolingParams pooling{.normalises = true};
  pooling.dimensions = body.integer("dimensions").value_or(0);
  const TextRules rules = read_rules(body, embedder.model());
  const engine::Json* input = body.any("input");
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(auto texts, TextInput(embedder, rules).read(input, "input"));
  OrderedJson head = {{"model", vector_model_name(context, *engine)}};
  if (!warnings.empty()) head[kWarningsMember] = warnings_json(warnings);
  const auto write = [head](const VectorSet& set) mutable {
    head["total_duration"] = set.duration_ns();
    head["load_duration"] = 0;
    head["prompt_eval_count"] = set.n_tokens();
    return with_member(head, "embeddings", vectors_text(set));
  };
  return submit_texts(context, request, engine, single_texts(std::move(texts)), pooling,
                      {write, error_body, std::move(warnings)});
}

/// The older route, with one text.
engine::Result<http::Reply> answer_embeddings(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  engine::Engine& embedder = engine->embedder();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine, kTag));
  const TextRules rules = read_rules(body, embedder.model());
  const std::optional<std::string> prompt = body.text("prompt");
  if (!prompt) body.refuse("prompt", "is missing");
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(auto ids, TextInput(embedder, rules).encode(*prompt, "prompt"));
  OrderedJson head = OrderedJson::object();
  if (!warnings.empty()) head[kWarningsMember] = warnings_json(warnings);
  const auto write = [head](const VectorSet& set) {
    return with_member(head, "embedding", number_list(set.vectors().front()));
  };
  return submit_texts(context, request, engine, single_texts({std::move(ids)}), {},
                      {write, error_body, std::move(warnings)});
}

}  // namespace lathe::app::ollama
