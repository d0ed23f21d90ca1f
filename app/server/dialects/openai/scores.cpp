// SPDX-License-Identifier: Apache-2.0
// POST /score and POST /rerank: the score of a cross-encoder, or the cosine of two texts' vectors.
// Source: vLLM's score API; the rerank API of Jina and Cohere.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;

/// Cosine of the angle between two vectors of length 1.
double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * y; });
}

/// A text of a list: a string, or an object with the member "text".
engine::Result<std::string> text_in_list(const Json& item, const std::string& path) {
  const Json* value = &item;
  if (item.is_object() && item.contains("text")) value = &item["text"];
  if (value->is_string()) return value->get<std::string>();
  return engine::fail(ErrorCode::invalid_argument, "must be a string, or an object with the string \"text\"", path);
}

/// Reads a text or a list of texts.
engine::Result<std::vector<std::string>> read_strings(const Json* value, const std::string& name) {
  if (value == nullptr) return engine::fail(ErrorCode::invalid_argument, "is missing", name);
  std::vector<std::string> texts;
  if (!value->is_array()) {
    LATHE_TRY(std::string one, text_in_list(*value, name));
    texts.push_back(std::move(one));
    return texts;
  }
  if (value->empty()) return engine::fail(ErrorCode::invalid_argument, "must not be an empty list", name);
  constexpr std::size_t most = 2048;
  if (value->size() > most) {
    return engine::fail(ErrorCode::invalid_argument, fmt::format("may hold at most {} texts, got {}", most, value->size()),
                        name);
  }
  for (const Json& item : *value) {
    LATHE_TRY(std::string one, text_in_list(item, fmt::format("{}[{}]", name, texts.size())));
    texts.push_back(std::move(one));
  }
  return texts;
}

engine::Result<void> append_texts(const TextInput& input, const std::vector<std::string>& strings, const std::string& name,
                                  std::vector<VectorText>& texts) {
  for (std::size_t i = 0; i < strings.size(); ++i) {
    LATHE_TRY(auto ids, input.encode(strings[i], strings.size() == 1 ? name : fmt::format("{}[{}]", name, i)));
    texts.push_back({.ids = std::move(ids)});
  }
  return {};
}

/// Two lists of texts under the names that the request has for them; a single first text goes with each second one.
struct TextPairs {
  std::vector<std::string> first, second;
  std::string first_name, second_name;

  const std::string& first_of(std::size_t pair) const { return first[first.size() == 1 ? 0 : pair]; }
};

/// The texts that the engine computes for pairs, and the reader of a score.
struct PairPlan {
  std::vector<VectorText> texts;
  engine::PoolingParams pooling;
  std::function<double(const VectorSet& set, std::size_t pair)> score;
};

/// A cross-encoder reads both texts of a pair as one, and its classifier's logit is the score.
engine::Result<PairPlan> plan_cross_encoder(const TextInput& input, const TextPairs& pairs, engine::LabelInfo labels,
                                            bool use_activation) {
  if (labels.labels.size() != 1) {
    return engine::fail(
        ErrorCode::invalid_argument,
        fmt::format("the model's classifier has {} labels and gives no score; send the texts to POST /classify",
                    labels.labels.size()),
        "model");
  }
  PairPlan plan{.texts = {}, .pooling = {.classifies = true}, .score = {}};
  for (std::size_t i = 0; i < pairs.second.size(); ++i) {
    LATHE_TRY(VectorText text, input.encode_pair(pairs.first_of(i), pairs.second[i], labels.doubles_separator,
                                                 fmt::format("{}[{}]", pairs.second_name, i)));
    plan.texts.push_back(std::move(text));
  }
  const auto activation = use_activation ? labels.activation : engine::LabelActivation::none;
  plan.score = [activation](const VectorSet& set, std::size_t pair) {
    std::vector<float> logits = set.vectors()[pair];
    apply_activation(activation, logits);
    return static_cast<double>(logits.front());
  };
  return plan;
}

/// A model that gives vectors scores a pair by their cosine. Each text is computed once.
engine::Result<PairPlan> plan_vectors(const TextInput& first, const TextInput& second, const TextPairs& pairs) {
  // Scores have vectors of length 1, whatever the model says.
  PairPlan plan{.texts = {}, .pooling = {.normalises = true}, .score = {}};
  LATHE_TRY_VOID(append_texts(first, pairs.first, pairs.first_name, plan.texts));
  LATHE_TRY_VOID(append_texts(second, pairs.second, pairs.second_name, plan.texts));
  plan.score = [n = pairs.first.size()](const VectorSet& set, std::size_t pair) {
    return cosine(set.vectors()[n == 1 ? 0 : pair], set.vectors()[n + pair]);
  };
  return plan;
}

struct RankForm {
  std::vector<std::string> documents;
  std::int64_t top_n = 0;  ///< 0: all
  bool with_documents = true;
};

OrderedJson ranked(const VectorSet& set, const PairPlan& plan, const RankForm& form) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < form.documents.size(); ++i) order.emplace_back(plan.score(set, i), i);
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
  const bool use_activation = body.flag("use_activation").value_or(true);
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
      answer["data"].push_back({{"index", i}, {"object", "score"}, {"score", score(set, i)}});
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
  TextRules document_rules = rules;
  if (const auto most = body.integer("max_tokens_per_doc")) {
    if (*most < 1) body.refuse("max_tokens_per_doc", fmt::format("must be at least 1, got {}", *most));
    if (model.labels)
      body.refuse("max_tokens_per_doc", "is not supported by a model that reads pairs; send truncate_prompt_tokens");
    document_rules.most_tokens = std::min(*most, model.max_model_len);
  }
  const bool use_activation = body.flag("use_activation").value_or(true);
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
