// SPDX-License-Identifier: Apache-2.0
// POST /score and POST /rerank: the cosine of two texts' vectors.
// Source: vLLM's score API for models that give vectors; the rerank API of Jina and Cohere.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::openai {
namespace {

using engine::ErrorCode;
using engine::Json;
using engine::OrderedJson;
using Texts = std::vector<std::vector<std::int32_t>>;

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
                                  Texts& texts) {
  for (std::size_t i = 0; i < strings.size(); ++i) {
    LATHE_TRY(auto ids, input.encode(strings[i], strings.size() == 1 ? name : fmt::format("{}[{}]", name, i)));
    texts.push_back(std::move(ids));
  }
  return {};
}

/// Scores have vectors of length 1, whatever the model says.
constexpr engine::PoolingParams kUnitLength = {.normalises = true};

OrderedJson ranked(const VectorSet& set, const std::vector<std::string>& documents, std::int64_t top_n,
                   bool with_documents) {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    order.emplace_back(cosine(set.vectors().front(), set.vectors()[i + 1]), i);
  }
  std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.first > b.first; });
  if (top_n > 0 && top_n < std::ssize(order)) order.resize(static_cast<std::size_t>(top_n));
  OrderedJson results = OrderedJson::array();
  for (const auto& [score, index] : order) {
    OrderedJson result = {{"index", index}};
    if (with_documents) result["document"] = {{"text", documents[index]}};
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
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine));
  const TextRules rules = read_text_rules(body, engine->embedder().model());
  const std::string second_name = body.has("documents") ? "documents" : "text_2";
  const Json *one = body.any("text_1"), *two = body.any(second_name);
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(const auto first, read_strings(one, body.path_of("text_1")));
  LATHE_TRY(const auto second, read_strings(two, body.path_of(second_name)));
  if (first.size() != 1 && first.size() != second.size()) {
    return engine::fail(ErrorCode::invalid_argument,
                        fmt::format("must be one text, or as many as {} has ({}); got {}", body.path_of(second_name),
                                    second.size(), first.size()),
                        body.path_of("text_1"));
  }
  const TextInput input(engine->embedder(), rules);
  Texts texts;
  LATHE_TRY_VOID(append_texts(input, first, body.path_of("text_1"), texts));
  LATHE_TRY_VOID(append_texts(input, second, body.path_of(second_name), texts));
  OrderedJson answer = answer_head(context, *engine, "score-");
  if (!warnings.empty()) answer[kWarningsMember] = warnings_json(warnings);
  const auto write = [answer, n_first = first.size(), n = second.size()](const VectorSet& set) mutable {
    OrderedJson data = OrderedJson::array();
    for (std::size_t i = 0; i < n; ++i) {
      const double score = cosine(set.vectors()[n_first == 1 ? 0 : i], set.vectors()[n_first + i]);
      data.push_back({{"index", i}, {"object", "score"}, {"score", score}});
    }
    answer["data"] = std::move(data);
    answer["usage"] = usage_of(set);
    return engine::dump_json(answer);
  };
  return submit_texts(context, request, engine, std::move(texts), kUnitLength, {write, error_body, std::move(warnings)});
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
    document_rules.most_tokens = std::min(*most, model.max_model_len);
  }
  const std::optional<std::string> query = body.text("query");
  if (!query) body.refuse("query", "is missing");
  const Json* list = body.array("documents");
  if (list == nullptr) body.refuse("documents", "is missing");
  const std::int64_t top_n = body.integer("top_n").value_or(0);
  if (top_n < 0) body.refuse("top_n", fmt::format("must not be negative, got {}", top_n));
  const bool with_documents = body.flag("return_documents").value_or(true);
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(const auto documents, read_strings(list, "documents"));
  Texts texts;
  LATHE_TRY_VOID(append_texts(TextInput(engine->embedder(), rules), {*query}, "query", texts));
  LATHE_TRY_VOID(append_texts(TextInput(engine->embedder(), document_rules), documents, "documents", texts));
  OrderedJson answer = {{"id", "rerank-" + context.ids.next()}, {"model", vector_model_name(context, *engine)}};
  if (!warnings.empty()) answer[kWarningsMember] = warnings_json(warnings);
  const auto write = [answer, documents, top_n, with_documents](const VectorSet& set) mutable {
    answer["usage"] = usage_of(set);
    answer["results"] = ranked(set, documents, top_n, with_documents);
    return engine::dump_json(answer);
  };
  return submit_texts(context, request, engine, std::move(texts), kUnitLength, {write, error_body, std::move(warnings)});
}

}  // namespace lathe::app::openai
