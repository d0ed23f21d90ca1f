// SPDX-License-Identifier: Apache-2.0
// POST /classify: the labels of texts, in vLLM's shape.
#include <algorithm>

#include "app/server/dialects/openai/embeddings.h"
#include "app/server/dialects/openai/openai.h"
#include "app/server/embed/vector_json.h"
#include "app/server/embed/vector_request.h"

namespace lathe::app::openai {

engine::Result<http::Reply> answer_classify(const ServerContext& context, const http::Request& request) {
  LATHE_TRY(const RequestBody given, RequestBody::read(request.body, vector_fields()));
  LATHE_TRY(const EngineLease engine, lease_engine(context));
  const engine::LoadedModel& model = engine->embedder().model();
  RequestFields body = given.reader();
  LATHE_TRY_VOID(check_vector_model(body, context, *engine));
  if (!model.labels) {
    return engine::fail(engine::ErrorCode::invalid_argument, "the model has no classifier, so it gives texts no labels",
                        "model");
  }
  const TextRules rules = read_text_rules(body, model);
  engine::LabelInfo labels = *model.labels;
  if (!body.flag("use_activation").value_or(true)) labels.activation = engine::LabelActivation::none;
  const engine::Json* input = body.any("input");
  LATHE_TRY(std::vector<FieldWarning> warnings, end_reading(context, body, given));
  LATHE_TRY(auto texts, TextInput(engine->embedder(), rules).read(input, "input"));
  engine::OrderedJson head = answer_head(context, *engine, "classify-");
  if (!warnings.empty()) head[kWarningsMember] = warnings_json(warnings);
  const auto write = [head, labels](const VectorSet& set) mutable {
    head["usage"] = usage_of(set);
    std::string data = "[";
    for (std::size_t i = 0; i < set.vectors().size(); ++i) {
      std::vector<float> probs = set.vectors()[i];
      apply_activation(labels.activation, probs);
      const auto best = static_cast<std::size_t>(std::max_element(probs.begin(), probs.end()) - probs.begin());
      const engine::OrderedJson item = {{"index", i}, {"label", labels.labels[best]}, {"num_classes", probs.size()}};
      data += (i == 0 ? "" : ",") + with_member(item, "probs", number_list(probs));
    }
    return with_member(head, "data", data + "]");
  };
  return submit_texts(context, request, engine, single_texts(std::move(texts)), {.classifies = true},
                      {write, error_body, std::move(warnings)});
}

}  // namespace lathe::app::openai
