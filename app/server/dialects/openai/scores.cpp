// SPDX-License-Identifier: Apache-2.0
// POST /score and POST /rerank: the score of a cross-encoder, or the cosine of two texts' vectors.
// Source: vLLM's score API; the rerank API of Jina and Cohere.
#include <fmt/format.h>

#include <algorithm>

#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/embed/pair_scores.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;

/// A text of a list: a string, or an object with the member "text".
engine::Result<std::string> text_in_list(const Json& item, const std::string& path) {
  const Json* value = &item;
  if (item.is_object() && item.contains("text")) value = &item["text"];
  if (value->is_string()) return value->get<std::string>();
  return engine::fail(ErrorCode::invalid_argument, "must be a string, or an object with the string \"text\"", path);
}

/// Reads a text or a list of texts.
engine::Result<std::vector<std::string>> read_strings(const Json* value, const std::string& name) {
  std::vector<std::string> texts;
  const bool is_one = value != nullptr && !value->is_array();
  LATHE_TRY_VOID(read_text_list(value, name, is_one, [&](const Json& item, const std::string& path) -> engine::Result<void> {
    LATHE_TRY(std::string one, text_in_list(item, path));
    texts.push_back(std::move(one));
    return {};
  }));
  return texts;
}

struct RankForm {
  std::vector<std::string> documents;
  std::int64_t top_n = 0;  ///< 0: all
  bool with_documents = true;
};

/// A pair has the special tokens of the model, and its longer text loses its end.
void check_pair_rules(RequestFields& body, const TextRules& rules) {
  if (!rules.add_special_tokens) body.refuse("add_special_tokens", "must be true for a model that reads pairs");
  if (rules.keeps_end) body.refuse("truncation_side", "must be \"right\" for a model that reads pairs");
}

OrderedJson ranked(const VectorSet& set, const PairPlan& plan, const RankForm& form) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < form.documents.size(); ++i) order.emplace_back(plan.score(set.vectors(), i), i);
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (form.top_n > 0 && form.top_n < std::ssize(order)) order.resize(static_cast<std::size_t>(form.top_n));
  OrderedJson results = OrderedJson::array();
  for (const auto& [score, index] : order) {
    OrderedJson result = {{"index", index}};
    if (form.with_documents) result["document"] = {{"text", form.documents[index]}};
    result["relevance_score"] = score;
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace

/// Scores each text of one list with the text of the same index in the other; a single text goes with all of the other list.
engine::Result<http::Reply> answer_score(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  const engine::LoadedModel& model = engine->embedder().model();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine));
  const TextRules rules = read_text_rules(body, model);
  if (model.labels) check_pair_rules(body, rules);
  const bool use_activation = !model.labels || body.flag("use_activation").value_or(true);
  const std::string second = body.has("documents") ? "documents" : "text_2";
  TextPairs pairs{.first = {}, .second = {}, .first_name = body.path_of("text_1"), .second_name = body.path_of(second)};
  const Json *one = body.any("text_1"), *two = body.any(second);
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(pairs.first, read_strings(one, pairs.first_name));
  LATHE_TRY(pairs.second, read_strings(two, pairs.second_name));
  if (pairs.first.size() != 1 && pairs.first.size() != pairs.second.size()) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be one text, or as many as {} has ({}); got {}", pairs.second_name,
                                    pairs.second.size(), pairs.first.size()),
                        pairs.first_name);
  }
  const TextInput input(engine->embedder(), rules);
  LATHE_TRY(PairPlan plan, model.labels ? plan_cross_encoder(input, pairs, *model.labels, use_activation)
                                        : plan_vectors(input, input, pairs));
  OrderedJson answer = answer_head(context, *engine, "score-");
  if (!warnings.empty()) answer[kWarningsMember] = warnings_json(warnings);
  const auto write = [answer, score = plan.score, n = pairs.second.size()](const VectorSet& set) mutable {
    answer["data"] = OrderedJson::array();
    for (std::size_t i = 0; i < n; ++i) {
      answer["data"].push_back({{"index", i}, {"object", "score"}, {"score", score(set.vectors(), i)}});
    }
    answer["usage"] = usage_of(set);
    return engine::dump_json(answer);
  };
  return submit_texts(context, request, engine, std::move(plan.texts), plan.pooling,
                      {write, error_body, std::move(warnings)});
}

/// Orders documents by their score with the query.
engine::Result<http::Reply> answer_rerank(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  const engine::LoadedModel& model = engine->embedder().model();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine));
  const TextRules rules = read_text_rules(body, model);
  if (model.labels) check_pair_rules(body, rules);
  TextRules document_rules = rules;
  if (const auto most = body.integer("max_tokens_per_doc")) {
    if (*most < 1) body.refuse("max_tokens_per_doc", fmt::format("must be at least 1, got {}", *most));
    if (model.labels)
      body.refuse("max_tokens_per_doc", "is not supported by a model that reads pairs; send truncate_prompt_tokens");
    document_rules.most_tokens = std::min(*most, model.max_model_len);
  }
  const bool use_activation = !model.labels || body.flag("use_activation").value_or(true);
  const std::optional<std::string> query = body.text("query");
  if (!query) body.refuse("query", "is missing");
  const Json* list = body.array("documents");
  if (list == nullptr) body.refuse("documents", "is missing");
  RankForm form{.documents = {}, .top_n = body.integer("top_n").value_or(0)};
  if (form.top_n < 0) body.refuse("top_n", fmt::format("must not be negative, got {}", form.top_n));
  form.with_documents = body.flag("return_documents").value_or(true);
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(form.documents, read_strings(list, "documents"));
  const TextPairs pairs{.first = {*query}, .second = form.documents, .first_name = "query", .second_name = "documents"};
  const TextInput input(engine->embedder(), rules);
  LATHE_TRY(PairPlan plan, model.labels ? plan_cross_encoder(input, pairs, *model.labels, use_activation)
                                        : plan_vectors(input, TextInput(engine->embedder(), document_rules), pairs));
  std::vector<VectorText> texts = std::move(plan.texts);
  OrderedJson answer = {{"id", "rerank-" + context.ids.next()}, {"model", vector_model_name(context, *engine)}};
  if (!warnings.empty()) answer[kWarningsMember] = warnings_json(warnings);
  const engine::PoolingParams pooling = plan.pooling;
  const auto write = [answer, form, plan = std::move(plan)](const VectorSet& set) mutable {
    answer["usage"] = usage_of(set);
    answer["results"] = ranked(set, plan, form);
    return engine::dump_json(answer);
  };
  return submit_texts(context, request, engine, std::move(texts), pooling, {write, error_body, std::move(warnings)});
}

}  // namespace lathe::app::openai
