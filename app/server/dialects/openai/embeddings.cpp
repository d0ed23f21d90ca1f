// SPDX-License-Identifier: Apache-2.0
// POST /v1/embeddings and POST /pooling
#include <fmt/format.h>

#include <chrono>

#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/embed/vector_json.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::openai {
namespace {

using engine::OrderedJson;

/// The members of an answer that the two routes call otherwise.
struct VectorNames {
  std::string_view id_prefix, object, member;
};
constexpr VectorNames kEmbeddingNames = {"embd-", "embedding", "embedding"}, kPoolingNames = {"pool-", "pooling", "data"};

bool reads_base64(RequestFields& body) {
  const std::string format = body.text("encoding_format").value_or("float");
  if (format != "float" && format != "base64") {
    body.refuse("encoding_format", "must be \"float\" or \"base64\"");
  }
  return format == "base64";
}

engine::PoolingParams read_pooling(RequestFields& body) {
  engine::PoolingParams pooling;
  if (const auto dimensions = body.integer("dimensions")) {
    pooling.dimensions = *dimensions;
    if (*dimensions < 1) body.refuse("dimensions", fmt::format("must be at least 1, got {}", *dimensions));
  }
  pooling.normalises = body.flag("normalize");
  return pooling;
}

std::string vectors_text(const VectorSet& set, const VectorNames& names, bool as_base64) {
  std::string text = "[";
  for (std::size_t i = 0; i < set.vectors().size(); ++i) {
    const std::vector<float>& vector = set.vectors()[i];
    const std::string value = as_base64 ? "\"" + base64_of(vector) + "\"" : number_list(vector);
    text += (i == 0 ? "" : ",") + with_member({{"index", i}, {"object", names.object}}, names.member, value);
  }
  return text + "]";
}

engine::Result<http::Reply> answer_vectors(const ServerContext& context, const http::Request& request,
                                           const VectorNames& names) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  engine::Engine& embedder = engine->embedder();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine));
  const bool as_base64 = reads_base64(body);
  const engine::PoolingParams pooling = read_pooling(body);
  const TextRules rules = read_text_rules(body, embedder.model());
  if (body.text("task").value_or("embed") != "embed") body.refuse("task", "must be \"embed\": a vector for each text");
  const engine::Json* input = body.any("input");
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(auto texts, TextInput(embedder, rules).read(input, "input"));
  OrderedJson head = answer_head(context, *engine, names.id_prefix);
  if (!warnings.empty()) head[kWarningsMember] = warnings_json(warnings);
  const auto write = [head, as_base64, names](const VectorSet& set) mutable {
    head["usage"] = usage_of(set);
    return with_member(head, "data", vectors_text(set, names, as_base64));
  };
  return submit_texts(context, request, engine, single_texts(std::move(texts)), pooling,
                      {write, error_body, std::move(warnings)});
}

}  // namespace

OrderedJson answer_head(const ServerContext& context, engine::Engine& engine, std::string_view id_prefix) {
  using namespace std::chrono;
  OrderedJson head;
  head["id"] = std::string(id_prefix) + context.ids.next();
  head["object"] = "list";
  head["created"] = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  head["model"] = vector_model_name(context, engine);
  return head;
}

engine::Result<http::Reply> answer_embeddings(const ServerContext& context, const http::Request& request) {
  return answer_vectors(context, request, kEmbeddingNames);
}

engine::Result<http::Reply> answer_pooling(const ServerContext& context, const http::Request& request) {
  return answer_vectors(context, request, kPoolingNames);
}

}  // namespace lathe::app::openai
